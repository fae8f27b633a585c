"""Sections that test patience: slow, failing, down for a while, large, binary, disallowed."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from crawlkit.lab.content import Answer, Ask, Place, Section, draw, redirect
from crawlkit.lab.links import Table, leaf
from crawlkit.lab.markup import Anchor, bullets, document, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Failing", "Files", "Large", "Outage", "Robots", "Slow"]

POISON = '<article class="product" data-id="P-poison"><span class="name">Nothing</span></article>\n'


@dataclass(frozen=True)
class Slow(Table):
    """Pages of which each takes its time.

    Parameters
    ----------
    seconds
        How long each answer takes.
    pages
        Number of pages besides the first.
    """

    name: ClassVar[str] = "slow"

    seconds: float = 1.0
    pages: int = 5

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return the numbered pages."""
        return {
            f"page-{number}": partial(leaf, self, place, f"page-{number}", f"Slow page {number}")
            for number in range(1, self.pages + 1)
        }

    def answer(self, ask: Ask) -> Answer | None:
        """Answer, with the wait."""
        found = super().answer(ask)
        return replace(found, wait=self.seconds) if found else None


@dataclass(frozen=True)
class Failing(Table):
    """Pages that fail at first, or always: 503 and 429 with Retry-After, resets, cut bodies.

    Parameters
    ----------
    failures
        How often a page that recovers fails first.
    retry_after
        Value of Retry-After in seconds, or any text, sent as it is.
    pages
        Number of pages that answer 503 at first.
    """

    name: ClassVar[str] = "failing"
    counts: ClassVar[bool] = True

    failures: int = 2
    retry_after: float | str = 1
    pages: int = 3

    FAULTS: ClassVar[tuple[str, ...]] = ("reset", "closed", "truncated")

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return what each page is when it has recovered."""
        names = [f"busy-{number}" for number in range(1, self.pages + 1)] + ["limited", "down"]
        names += [f"{fault}-{when}" for fault in self.FAULTS for when in ("once", "always")]
        names.append("healthy")
        table: dict[str, Callable[[], Answer]] = {
            name: partial(leaf, self, place, name, f"Page {name}") for name in names
        }
        table["poison"] = partial(
            document, "A product without a price", main=[POISON], kind="poison"
        )
        return table

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with the failure that is due, or with the page."""
        found = super().answer(ask)
        name = ask.target.removeprefix(self.start)
        if found is None:
            return None
        if name == "down":
            return self._busy(503, "down", retry=False)
        if name == "limited" and ask.visit < self.failures:
            return self._busy(429, "limited")
        if name.startswith("busy-") and ask.visit < self.failures:
            return self._busy(503, "busy")
        fault, _, when = name.partition("-")
        if fault in self.FAULTS and (when == "always" or ask.visit == 0):
            return replace(found, fault=fault, settled=False)
        return replace(found, settled=False)

    def _busy(self, status: int, kind: str, *, retry: bool = True) -> Answer:
        """Return a refusal, with Retry-After if asked."""
        headers = (("Retry-After", str(self.retry_after)),) if retry else ()
        return document(
            f"Status {status}", status=status, kind=kind, headers=headers, settled=False
        )


@dataclass(frozen=True)
class Outage(Table):
    """A host that is down for a while: 503 with Retry-After on every path, robots.txt too.

    Parameters
    ----------
    after
        Number of requests that the host still answers.
    requests
        Number of requests that it then refuses before it recovers.
    retry_after
        Value of Retry-After in seconds, or any text, sent as it is.
    pages
        Number of pages of the section besides the first.
    """

    name: ClassVar[str] = "outage"
    counts: ClassVar[bool] = True

    after: int = 10
    requests: int = 5
    retry_after: float | str = 1
    pages: int = 20

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return the numbered pages."""
        return {
            f"page-{number}": partial(leaf, self, place, f"page-{number}", f"Page {number}")
            for number in range(1, self.pages + 1)
        }

    def before(self, ask: Ask, asked: int) -> Answer | None:  # noqa: ARG002 - whatever the path
        """Refuse while the outage lasts."""
        if not self.after <= asked < self.after + self.requests:
            return None
        headers = (("Retry-After", str(self.retry_after)),)
        return document("Out of order", status=503, kind="outage", headers=headers, settled=False)


@dataclass(frozen=True)
class Large(Table):
    """Big pages.

    Parameters
    ----------
    sizes
        Size of each page in bytes.
    """

    name: ClassVar[str] = "large"

    sizes: tuple[int, ...] = (1_000_000, 5_000_000)

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return one page for each size."""
        return {
            f"page-{number}": partial(self._page, place, number, size)
            for number, size in enumerate(self.sizes, start=1)
        }

    def _page(self, place: Place, number: int, size: int) -> Answer:
        """Write a page of exactly this size, or of its smallest possible size."""
        page = leaf(self, place, f"page-{number}", f"Large page {number}", kind="large")
        start, end = page.body.split(b"</main>")
        end = b"</main>" + end
        text = sentences(20, place.seed, self.name, place.host, number).encode()
        room = max(0, size - len(start) - len(end) - len(b"<p></p>"))
        filler = (b"<p>" + (text + b"\n") * (room // (len(text) + 1) + 1))[: room + 3] + b"</p>"
        return replace(page, body=start + filler + end)


@dataclass(frozen=True)
class Files(Table):
    """Things that are no HTML: PDF, PNG, CSV, text, bytes under a wrong label, nothing at all."""

    name: ClassVar[str] = "files"

    def table(self, place: Place) -> dict[str, Callable[[], Answer]]:
        """Return the files."""
        key = (place.seed, self.name, place.host)
        noise = b"".join(draw(*key, n).to_bytes(8, "big") for n in range(512))
        text = sentences(20, *key)
        rows = "".join(f"{n},{draw(*key, n) % 1000}\n" for n in range(50))

        def file(body: bytes, content_type: str | None, kind: str) -> Callable[[], Answer]:
            return partial(Answer, body, content_type=content_type, kind=kind)

        return {
            "paper.pdf": file(_pdf(text[:60]), "application/pdf", "pdf"),
            "picture.png": file(_png(noise[:3072]), "image/png", "image"),
            "table.csv": file(b"number,value\n" + rows.encode(), "text/csv", "csv"),
            "plain.txt": file(text.encode(), "text/plain; charset=utf-8", "text"),
            "archive.bin": file(noise, "application/octet-stream", "binary"),
            "mislabeled": file(b"\x00" + noise, "text/html", "binary"),
            "untyped": file(leaf(self, place, "untyped", "No type").body, None, "untyped"),
            "empty": file(b"", "text/html", "empty"),
            "nothing": partial(Answer, status=204, content_type=None, kind="empty"),
        }


def _pdf(text: str) -> bytes:
    """Return a PDF of one page with one line of text."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for at in places:
        body += b"%010d 00000 n \n" % at
    body += b"trailer << /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    body += b"startxref\n%d\n%%%%EOF\n" % table
    return bytes(body)


def _png(pixels: bytes, *, side: int = 32) -> bytes:
    """Return a square RGB picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + check

    size = side.to_bytes(4, "big")
    rows = b"".join(b"\0" + pixels[row * side * 3 :][: side * 3] for row in range(side))
    # Stored blocks only: every version of zlib writes the same bytes.
    data = zlib.compress(rows, 0)
    header = chunk(b"IHDR", size + size + b"\x08\x02\0\0\0")
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@dataclass(frozen=True)
class Robots(Section):
    """What robots.txt, robots meta tags and X-Robots-Tag ask for; the host's robots.txt itself.

    Parameters
    ----------
    crawl_delay
        Value of Crawl-delay in seconds; None leaves the line out.
    status
        Status of robots.txt: 200, 301 (it moves twice, then is served), 404, 500 and so on.
    disallow
        More paths that robots.txt disallows on this host.
    """

    name: ClassVar[str] = "robots"

    crawl_delay: float | None = None
    status: int = 200
    disallow: tuple[str, ...] = ()

    def paths(self, place: Place) -> Iterator[str]:  # noqa: ARG002 - the same on each host
        """Give the open pages, then the closed ones."""
        yield self.start
        for name in (*self._open(), *self._closed()):
            yield self.start + name

    def _open(self) -> list[str]:
        return ["open-1", "open-2", "noindex", "nofollow", "header-noindex", "closed/but-allowed"]

    def _closed(self) -> list[str]:
        return ["closed/1", "closed/2", "search?q=lamp"]

    def answer(self, ask: Ask) -> Answer | None:
        """Answer with a page; the closed ones answer as well, to whoever asks."""
        place = ask.place
        name = ask.target.removeprefix(self.start)
        if ask.target == self.start:
            listed = [each for each in self._open() + self._closed() if each != "open-2"]
            links = bullets(Anchor(self.start + each, each) for each in listed)
            text = sentences(3, place.seed, self.name, place.host)
            return document("Section robots", text, main=links, kind="index")
        if name in self._closed():
            return leaf(self, place, name, f"Closed page {name}", kind="closed")
        if name not in self._open():
            return None
        if name == "header-noindex":
            page = leaf(self, place, name, "Not for the index", kind="noindex")
            return replace(page, headers=(("X-Robots-Tag", "noindex"),))
        if name in {"noindex", "nofollow"}:
            # Only this page links to open-2.
            anchors = [Anchor(self.start + "open-2", "Behind it")] if name == "nofollow" else []
            return document(
                f"Page {name}",
                sentences(4, place.seed, self.name, place.host, name),
                head=f'<meta name="robots" content="{name}">\n',
                main=bullets(anchors),
                kind=name,
            )
        return leaf(self, place, name, f"Page {name}")

    def robots_lines(self, place: Place) -> Sequence[str]:  # noqa: ARG002 - the same on each host
        """Give the rules of this section."""
        lines = [f"Disallow: {self.start}closed/", f"Allow: {self.start}closed/but-allowed"]
        lines.append(f"Disallow: {self.start}search?")
        lines += [f"Disallow: {path}" for path in self.disallow]
        if self.crawl_delay is not None:
            lines.append(f"Crawl-delay: {self.crawl_delay:g}")
        return lines

    def robots_answer(self, ask: Ask, text: str) -> Answer | None:
        """Answer for robots.txt with the status asked for."""
        plain = Answer(text.encode(), content_type="text/plain; charset=utf-8", kind="robots.txt")
        moved = re.fullmatch(r"/robots/moved-([12])\.txt", ask.path)
        if moved and self.status in {301, 302, 307, 308}:
            return plain if moved[1] == "2" else redirect("/robots/moved-2.txt", self.status)
        if ask.path != "/robots.txt" or self.status == 200:
            return None
        if self.status in {301, 302, 307, 308}:
            return redirect("/robots/moved-1.txt", self.status)
        return replace(plain, status=self.status, body=b"")
