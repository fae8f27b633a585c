"""HTML of the practice site: landmarks, escaped text, and the links in document order."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from crawlkit.lab.content import Answer, draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Anchor", "bullets", "document", "sentences"]

WORDS = (  # noqa: SIM905 - a word a line would fill a screen
    "steady quiet broad simple clear warm early late small large even plain bright narrow open "
    "kettle ladder window garden harbor letter market meadow morning number orchard paper "
    "river season signal station street summer table timber valley village winter workshop "
    "carries covers follows gathers holds joins keeps leaves marks meets moves opens reaches "
    "rests returns shows stands turns waits weighs"
).split()


class Anchor(NamedTuple):
    """A link to be written: address, text and rel."""

    href: str
    text: str
    rel: str = ""

    def html(self) -> str:
        """Return the escaped element."""
        rel = f' rel="{escape(self.rel)}"' if self.rel else ""
        return f'<a href="{escape(self.href)}"{rel}>{escape(self.text)}</a>'


def sentences(count: int, *key: object) -> str:
    """Return made-up sentences of nine words that depend on the key alone.

    Examples
    --------
    >>> sentences(1, "a") == sentences(1, "a") != sentences(1, "b")
    True
    """
    made = []
    for number in range(count):
        bits = draw("sentence", *key, number)
        words = []
        for _ in range(9):
            bits, rest = divmod(bits, len(WORDS))
            words.append(WORDS[rest])
        made.append(" ".join(words).capitalize() + ".")
    return " ".join(made)


def bullets(anchors: Iterable[Anchor]) -> list[str | Anchor]:
    """Return a list of links as pieces for `document`."""
    pieces: list[str | Anchor] = ["<ul>\n"]
    for anchor in anchors:
        pieces += ["<li>", anchor, "</li>\n"]
    pieces.append("</ul>\n")
    return pieces


def document(
    title: str,
    text: str = "",
    *,
    main: Sequence[str | Anchor] = (),
    description: str | None = None,
    nav: Sequence[Anchor] = (),
    header: Sequence[Anchor] = (),
    footer: Sequence[Anchor] = (),
    canonical: str | None = None,
    head: str = "",
    head_links: Sequence[tuple[str, str]] = (),
    lang: str = "en",
    kind: str = "page",
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = (),
    same_as: str | None = None,
    wait: float = 0.0,
    record: Mapping[str, object] | None = None,
    settled: bool = True,
) -> Answer:
    """Write one page and return the answer, links and canonical noted for the truth.

    Parameters
    ----------
    title
        Text of ``<title>`` and ``<h1>``.
    text
        A first paragraph, plain text.
    main
        Pieces of the main part: strings are HTML, anchors are written and noted.
    description
        Text of the meta description.
    nav, header, footer
        Links of these landmarks.
    canonical
        Href of a canonical link.
    head
        More HTML for the head.
    head_links
        Pairs of rel and href for ``<link>`` elements.
    lang
        Language of the document.
    kind, status, headers, same_as, wait, record, settled
        Passed on to `Answer`.

    Returns
    -------
    Answer
        The page.
    """
    links: list[str] = [href for _, href in head_links]
    links += [anchor.href for anchor in (*header, *nav)]
    links += [piece.href for piece in main if isinstance(piece, Anchor)]
    links += [anchor.href for anchor in footer]
    parts = [f'<!DOCTYPE html>\n<html lang="{escape(lang)}">\n<head>\n<meta charset="utf-8">\n']
    parts.append(f"<title>{escape(title)}</title>\n")
    if description is not None:
        parts.append(f'<meta name="description" content="{escape(description)}">\n')
    if canonical is not None:
        parts.append(f'<link rel="canonical" href="{escape(canonical)}">\n')
    parts += [f'<link rel="{escape(rel)}" href="{escape(href)}">\n' for rel, href in head_links]
    parts.append(f"{head}</head>\n<body>\n")
    parts += _landmark("header", header)
    parts += _landmark("nav", nav)
    parts.append(f"<main>\n<h1>{escape(title)}</h1>\n")
    if text:
        parts.append(f"<p>{escape(text)}</p>\n")
    parts += [piece.html() if isinstance(piece, Anchor) else piece for piece in main]
    parts.append("</main>\n")
    parts += _landmark("footer", footer)
    parts.append("</body>\n</html>\n")
    return Answer(
        "".join(parts).encode(),
        status=status,
        kind=kind,
        headers=headers,
        links=tuple(links),
        canonical=canonical,
        same_as=same_as,
        wait=wait,
        record=record,
        settled=settled,
    )


def _landmark(name: str, anchors: Sequence[Anchor]) -> list[str]:
    """Return one landmark with its links, or nothing where there are none."""
    if not anchors:
        return []
    return [f"<{name}>\n", *(f"{anchor.html()}\n" for anchor in anchors), f"</{name}>\n"]
