"""Two programs that make pages from data, DokuWiki and gitweb, served on the loopback address.

``serve_generator("dokuwiki")`` and ``serve_generator("gitweb")`` put content behind the program (a
wiki of some dozens of pages with revisions; a git repository with some hundred commits), start it
and stop it again. Programs are downloaded by apt into ``benchmarks/out/`` and unpacked there:
nothing is installed and no root rights are needed. PHP's built-in server runs DokuWiki, a small CGI
host (``cgi_host.py``) gitweb. Settings are the packages' own; the wiki may be read by everyone and
written by nobody.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from sites import OUT, _free_port, _unpacked, _wait_until_up

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GENERATORS", "serve_generator"]

HERE = Path(__file__).resolve().parent
STOP_SECONDS = 15.0
_WORDS = (
    "apron barley canal delta ember fjord garnet harbor inlet juniper kettle lantern meadow nettle "
    "orchard paddle quarry ribbon saddle timber umber valley willow yarrow zinc anchor basalt "
    "cinder dune estuary furrow gravel hollow island jetty kiln ledge marsh notch oak pebble reed "
    "slate thicket upland verge weir"
)
FIRST_DAY = 1_735_689_600
"""2025-01-01 UTC, in seconds."""
WORDS = _WORDS.split()
DAY = 86_400

# -- DokuWiki --------------------------------------------------------------------------------

DOKUWIKI_PACKAGES = (
    "dokuwiki", "php8.2-cli", "php8.2-common", "php8.2-xml", "php-geshi", "libphp-simplepie",
    "php-phpseclib",
)  # fmt: skip
NAMESPACES = ("", "team", "team:minutes", "guide", "guide:install", "guide:use", "lab", "lab:notes")
PAGES_EACH, REVISIONS = 8, 12


def _copy(source: Path, target: Path) -> None:
    """Copy a folder; links that lead out of the unpacked package are left out."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir() and not path.is_symlink():
            place.mkdir(parents=True, exist_ok=True)
        elif path.is_file() and not path.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


def _make_wiki(folder: Path) -> None:
    """Put a DokuWiki into a folder, as its Debian package sets it up, with content."""
    package = _unpacked("dokuwiki")
    _copy(package / "usr/share/dokuwiki", folder)
    for name in ("plugins", "tpl"):
        _copy(package / f"var/lib/dokuwiki/lib/{name}", folder / "lib" / name)
    _copy(package / "etc/dokuwiki", folder / "conf")
    _copy(package / "var/lib/dokuwiki/data", folder / "data")
    for name in ("pages", "attic", "meta", "media", "media_attic", "media_meta", "cache", "index",
                 "locks", "tmp"):  # fmt: skip
        (folder / "data" / name).mkdir(parents=True, exist_ok=True)
    share = folder.parent / "share"
    for name in DOKUWIKI_PACKAGES:
        _copy(_unpacked(name) / "usr/share", share)
    for path in (*folder.rglob("vendor/composer/*.php"), *(folder / "inc").glob("*.php")):
        text = path.read_bytes()
        moved = text.replace(b"/usr/share/php", f"{share}/php".encode())
        moved = moved.replace(b"/etc/dokuwiki", str(folder / "conf").encode())
        if moved != text:
            path.write_bytes(moved)
    (folder / "conf/local.php").write_text(
        "<?php\n$conf['title'] = 'Harbor wiki';\n$conf['useacl'] = 1;\n"
        f"$conf['savedir'] = '{folder}/data';\n$conf['disableactions'] = 'register';\n"
    )
    (folder / "conf/acl.auth.php").write_text("*  @ALL  1\n")
    (folder / "conf/users.auth.php").write_text("")
    _write_pages(folder / "data")


def _write_pages(data: Path) -> None:
    """Write pages, their earlier revisions and their changelogs, in DokuWiki's own format."""
    draw = random.Random(7)
    names = [
        f"{space}:{word}".lstrip(":")
        for space in NAMESPACES
        for word in ("start", *draw.sample(WORDS, PAGES_EACH - 1))
    ]
    changes = []
    for at, name in enumerate(names):
        place = name.replace(":", "/")
        times = sorted(draw.sample(range(FIRST_DAY, FIRST_DAY + 400 * DAY), REVISIONS))
        lines = []
        text = ""
        for revision, moment in enumerate(times):
            text = _wiki_text(draw, name, names, at, revision)
            attic = data / "attic" / f"{place}.{moment}.txt.gz"
            attic.parent.mkdir(parents=True, exist_ok=True)
            attic.write_bytes(gzip.compress(text.encode(), mtime=0))
            kind = "E" if revision else "C"
            fields = (moment, f"192.0.2.{1 + at % 9}", kind, name, "", f"step {revision}", "", 9)
            lines.append("\t".join(map(str, fields)))
        changes += lines
        for folder, ending, content in (
            ("pages", "txt", text),
            ("meta", "changes", "\n".join(lines) + "\n"),
        ):
            path = data / folder / f"{place}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            os.utime(path, (times[-1], times[-1]))
    (data / "meta/_dokuwiki.changes").write_text("\n".join(sorted(changes)) + "\n")
    for name in ("chart", "map", "plan"):
        (data / f"media/{name}.png").write_bytes(_picture(draw))


def _wiki_text(draw: random.Random, name: str, names: list[str], at: int, revision: int) -> str:
    """Return the text of a page in one revision: each adds a section."""
    fixed = random.Random(f"{name} {revision}")
    parts = [f"====== {name.replace(':', ' ').title()} ======\n"]
    for section in range(1 + revision // 3):
        own = random.Random(f"{name} {section}")
        parts += [f"===== {own.choice(WORDS).title()} {section} =====\n", _prose(own, 60)]
    others = [names[(at * 3 + step) % len(names)] for step in (1, 2, 5, 11)]
    parts += [_prose(fixed, 20), *(f"  * [[:{other}]]" for other in others)]
    soon = f"[[:{draw.choice(WORDS)}|soon]]" if at % 4 == 0 else ""
    parts += ["", soon, "{{:chart.png?200}}"]
    if name == "start":
        parts += [f"  * [[:{other}]]" for other in names if other.endswith("start")]
    return "\n".join(parts) + "\n"


def _prose(draw: random.Random, count: int) -> str:
    words = [draw.choice(WORDS) for _ in range(count)]
    return " ".join(words).capitalize() + ".\n"


def _picture(draw: random.Random) -> bytes:
    """Return a PNG of 8 by 8 gray pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content).to_bytes(4, "big")
        return len(content).to_bytes(4, "big") + kind + content + check

    rows = b"".join(b"\0" + draw.randbytes(8) for _ in range(8))
    head = (8).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _php_command(folder: Path, port: int) -> list[str]:
    packages = {name: _unpacked(name) for name in DOKUWIKI_PACKAGES}
    extensions = folder.parent / "extensions"
    extensions.mkdir()
    for package in packages.values():
        for path in package.glob("usr/lib/php/*/*.so"):
            shutil.copyfile(path, extensions / path.name)
    options = {
        "include_path": f".:{folder.parent}/share/php",
        "extension_dir": str(extensions),
        "date.timezone": "UTC",
        "session.save_path": str(folder / "data/tmp"),
    }
    wanted = ("ctype", "dom", "iconv", "posix", "simplexml", "tokenizer", "xml", "xmlreader",
              "xmlwriter")  # fmt: skip
    command = [str(next((packages["php8.2-cli"] / "usr/bin").glob("php8*"))), "-n"]
    for name, value in options.items():
        command += ["-d", f"{name}={value}"]
    for name in wanted:
        command += ["-d", f"extension={name}"]
    return [*command, "-S", f"127.0.0.1:{port}", "-t", str(folder)]


# -- gitweb ----------------------------------------------------------------------------------

COMMITS, FOLDERS, FILES_EACH = 400, 12, 10


def _make_repository(folder: Path) -> None:
    """Make a bare repository: commits, a tag each fifty, a branch that is merged now and then."""
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    (folder / "description").write_text("A library of tides\n")
    (folder / "git-daemon-export-ok").touch()
    subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet"],
        input="".join(_stream()).encode(), check=True,
    )  # fmt: skip


def _stream() -> Iterator[str]:
    draw = random.Random(11)
    folders = draw.sample(WORDS, FOLDERS)
    files = [
        f"{folders[at % FOLDERS]}/{draw.choice(WORDS)}{at}.txt"
        for at in range(FOLDERS * FILES_EACH)
    ]
    lines = {name: [_prose(draw, 8) for _ in range(12)] for name in files}
    people = ("Ada Reed", "Ben Oak", "Cleo Marsh", "Dov Weir")
    for number in range(1, COMMITS + 1):
        who = people[draw.randrange(len(people))]
        when = FIRST_DAY + number * DAY // 2 + draw.randrange(20_000)
        mail = f"{who.split()[0].lower()}@example.org"
        said = f"{draw.choice(WORDS).title()} the {draw.choice(WORDS)}\n\n{_prose(draw, 15)}"
        branch = "side" if number % 10 in (7, 8) else "main"
        yield f"commit refs/heads/{branch}\nmark :{number}\n"
        yield f"committer {who} <{mail}> {when} +0000\ndata {len(said)}\n{said}"
        if number % 10 == 7 and number > 10:
            yield f"from :{number - 1}\n"
        if number % 10 == 9:
            yield f"from :{number - 3}\nmerge :{number - 1}\n"
        changed = files if number == 1 else draw.sample(files, 3)
        for name in changed:
            lines[name][draw.randrange(len(lines[name]))] = _prose(draw, 8)
            text = "".join(lines[name])
            yield f"M 100644 inline {name}\ndata {len(text)}\n{text}\n"
        if number % 50 == 0:
            yield f"reset refs/tags/v{number // 50}\nfrom :{number}\n\n"


def _gitweb_command(folder: Path, port: int) -> list[str]:
    program = Path("/usr/share/gitweb/gitweb.cgi")
    if not program.exists():
        program = _unpacked("git") / "usr/share/gitweb/gitweb.cgi"
    libraries = [
        path
        for name in ("libcgi-pm-perl", "libhtml-parser-perl")
        for path in (
            _unpacked(name) / "usr/share/perl5",
            *(_unpacked(name) / "usr/lib").glob("*/perl5/*"),
        )
    ]
    (folder / "gitweb.conf").write_text(
        f"$projectroot = '{folder}';\n$git_temp = '{folder}';\n@stylesheets = ();\n"
        "$logo = undef;\n$favicon = undef;\n$javascript = undef;\n"
    )
    command = [sys.executable, str(HERE / "cgi_host.py"), str(program), str(port)]
    command += ["--set", f"GITWEB_CONFIG={folder}/gitweb.conf"]
    return [*command, "--set", f"PERL5LIB={':'.join(map(str, libraries))}"]


# -- both ------------------------------------------------------------------------------------

GENERATORS = {"dokuwiki": "doku.php", "gitweb": "gitweb.cgi"}
"""Name -> the page at which a crawl starts."""


@contextlib.contextmanager
def serve_generator(name: str) -> Iterator[str]:
    """Serve DokuWiki or gitweb until the block ends; yields the start page.

    Parameters
    ----------
    name : str
        A name in ``GENERATORS``.
    """
    with tempfile.TemporaryDirectory(prefix="crawlkit-bench-") as made:
        folder, port = Path(made) / "site", _free_port()
        environment = dict(os.environ)
        if name == "dokuwiki":
            _make_wiki(folder)
            command = _php_command(folder, port)
            environment["PHP_CLI_SERVER_WORKERS"] = "2"
        else:
            _make_repository(folder / "tides.git")
            command = _gitweb_command(folder, port)
        errors = Path(made) / "stderr"
        with errors.open("wb") as sink:
            process = subprocess.Popen(
                command, stderr=sink, stdout=sink, env=environment, start_new_session=True
            )
        try:
            _wait_until_up(process, port, errors)
            yield f"http://127.0.0.1:{port}/{GENERATORS[name]}"
        finally:
            # PHP's workers outlive it; the session is the server's own, so nothing else is stopped.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(STOP_SECONDS)
            time.sleep(0.2)  # workers end after it, and still write
            (OUT / f"{name}.log").write_bytes(errors.read_bytes()[-20_000:])
