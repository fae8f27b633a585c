"""Import: WARC files of any tool into a crawl folder, as if the pages had just been fetched.

Two passes over the files: the first chooses one capture per page, the second takes them in, in the
order of the files, through the same code as a live crawl. Nothing is asked of the network.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crawlkit.crawling.crawl_folder import Crawl
from crawlkit.crawling.interrupts import uninterrupted
from crawlkit.crawling.session import open_session, saved_settings
from crawlkit.crawling.settings import Settings, check_folder, settings_from_arguments
from crawlkit.crawling.warc import require_warcio
from crawlkit.crawling.warc_index import CaptureIndex
from crawlkit.crawling.warc_intake import Intake
from crawlkit.crawling.warc_reader import looks_like_warc
from crawlkit.errors import BadSetting
from crawlkit.web.urls import LinkResolver

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Mapping

    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.settings import Limits
    from crawlkit.order.base import Ordering
    from crawlkit.web.urls import UrlRules

    Pattern = str | re.Pattern[str]

__all__ = ["import_warc"]

_SUFFIXES = (".warc", ".warc.gz", ".arc", ".arc.gz")


def import_warc(
    paths: str | Path | Iterable[str | Path],
    folder: str | Path,
    *,
    order: str | Ordering = "breadth_first",
    scope: str | Iterable[str] = "host",
    include: Pattern | Iterable[Pattern] = (),
    exclude: Pattern | Iterable[Pattern] = (),
    canonical: Literal["record", "merge"] = "record",
    url_rules: UrlRules | None = None,
    extract: Extractor | None = None,
    limits: Limits | None = None,
    keep_bodies: bool = True,
    progress: bool | Callable[[Mapping[str, Any]], None] = True,
) -> Crawl:
    """Make a crawl folder from WARC files, of crawlkit or of any other tool; nothing is fetched.

    The folder has the tables that a live crawl would have made: pages, links, URLs, records,
    bodies. URLs that were found and are not in the files are ``pending``, so ``crawl.resume()``
    can go on live. The same files give the same ids. A killed import goes on when it is called
    again; a finished one changes nothing.

    Parameters
    ----------
    paths
        A WARC or ARC file, a folder of such files, or a list of both; compressed or not. Files
        are read in the order given, those of a folder by name.
    folder
        Folder of the crawl; made if it is not there. A crawl that is already in it is added to,
        by its own ``expect`` and ``on_trap``.
    order, canonical, url_rules
        As in :func:`crawlkit.crawl`, for this folder from now on.
    scope
        ``"host"`` (the hosts of the records), ``"site"`` (their registered domains), ``"any"``,
        or a list of hosts; records of other hosts are then left out.
    include, exclude
        Patterns of URLs to take and to leave; they hold for records as for links.
    extract
        Function of a page that yields dicts with an ``id``: the records.
    limits
        Of these, ``body``, ``links_per_page`` and ``known_urls`` bound the import.
    keep_bodies
        Whether raw responses are kept.
    progress
        ``True`` for a bar, ``False`` for none, or a function that is given the numbers.

    Returns
    -------
    Crawl
        Its ``stop_reason`` is ``finished``, or ``imported`` where URLs are pending. Damaged
        records are rows of ``events``, of a kind listed in
        :data:`crawlkit.crawling.warc_reader.PROBLEMS`; one row ``warc_imported`` for each file
        tells what was in it.

    Raises
    ------
    MissingExtra
        warcio is not installed.
    BadSetting
        An argument cannot work, or none of the files is a WARC or ARC file.
    SettingsChanged
        The folder was made with another order, scope, canonical or URL rules.
    FolderInUse, FolderUnusable, StorageFailed
        As in :func:`crawlkit.crawl`.

    Notes
    -----
    A page has one row, for the latest capture that is no failure worth retrying; the others are
    counted in the event. A page met before any link to it is a start: depth 0, ``found_on`` null,
    ``source`` "warc". A record without HTTP (``resource``) counts as status 200. A revisit record
    takes its payload from the record it refers to. robots.txt is left out unless a page links to
    it. What a WARC file does not say is null or its best guess: ``elapsed`` is null, ``wire_bytes``
    is what the record holds, ``attempts`` is 1.

    Examples
    --------
    >>> import crawlkit as ck, tempfile
    >>> from crawlkit.crawling.warc import export_warc
    >>> with ck.lab.serve() as site, tempfile.TemporaryDirectory() as folder:
    ...     crawl = ck.crawl(
    ...         site.url + "shop/", folder + "/a", delay=0, max_pages=9, progress=False
    ...     )
    ...     count = export_warc(folder + "/a", folder + "/shop.warc.gz")
    ...     again = import_warc(folder + "/shop.warc.gz", folder + "/b", progress=False)
    ...     print(len(again.pages), again.stop_reason, again.pages["title"].equals(
    ...         crawl.pages["title"]))
    9 imported True
    """
    require_warcio()
    files = _warc_files(paths)
    settings = settings_from_arguments(
        order=order, scope=scope, include=include, exclude=exclude, canonical=canonical,
        url_rules=url_rules, limits=limits, http=None, max_pages=None, keep_bodies=keep_bodies,
    )  # fmt: skip
    if extract is not None and not callable(extract):
        raise BadSetting("extract", f"{extract!r} is no function", "Pass a function of a page.")
    path = check_folder(folder)
    saved = saved_settings(path)
    if saved is not None:
        before = Settings.from_dict(saved)
        # Nothing was said of these here, so what the folder was told before holds.
        settings = replace(settings, expect=before.expect, on_trap=before.on_trap)
        settings.check_resume(saved)
    resolver = LinkResolver(settings.url_rules)
    with (
        CaptureIndex(files, settings, resolver) as index,
        open_session(path, settings, to_crawl=True) as session,
    ):
        intake = Intake(session, settings, resolver, index, extract)
        intake.run(progress)
        hurry = threading.Event()
        uninterrupted(lambda: intake.finish(hurry), hurry.set)
    return Crawl(path, settings=settings, extract=extract)


def _warc_files(paths: Any) -> list[Path]:
    """Return the files to read; raise where one is not there, or none is of a known kind."""
    remedy = "Pass a WARC file, a folder of WARC files, or a list."
    if isinstance(paths, (str, Path)):
        paths = [paths]
    try:
        given = [Path(path).expanduser() for path in paths]
    except TypeError:
        raise BadSetting("paths", f"{paths!r} is no path", remedy) from None
    files: list[Path] = []
    for path in given:
        if path.is_dir():
            files += sorted(p for p in path.iterdir() if p.is_file() and _is_named_so(p))
        elif path.is_file():
            files.append(path)
        else:
            raise BadSetting("paths", f"there is no file {path}", remedy)
    if not any(looks_like_warc(path) for path in files):
        named = ", ".join(str(path) for path in given[:3]) or "nothing"
        raise BadSetting("paths", f"there is no WARC or ARC file in {named}", remedy)
    return files


def _is_named_so(path: Path) -> bool:
    return path.name.lower().endswith(_SUFFIXES) and not path.name.startswith(".")
