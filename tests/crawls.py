"""Sites of a few scripted pages, and crawls of them: shared by the tests of whole crawls."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import crawlkit as ck
from crawlkit import lab
from crawlkit.lab.markup import bullets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

Page = lab.Answer | Callable[[lab.Ask], lab.Answer | None]
Robots = str | lab.Answer | Callable[[lab.Ask], lab.Answer | None]


@dataclass(frozen=True)
class Scripted(lab.Section):
    """Pages made for one test, by their address behind ``/t/``; a function sees each request."""

    name: ClassVar[str] = "t"
    counts: ClassVar[bool] = True

    pages: Mapping[str, Page] = field(default_factory=dict)
    robots: Robots | None = None

    def paths(self, place: lab.Place) -> Iterator[str]:
        yield from (self.start + name for name in self.pages)

    def answer(self, ask: lab.Ask) -> lab.Answer | None:
        found = self.pages.get(ask.target.removeprefix(self.start))
        if callable(found):
            made = found(ask)
            return None if made is None else dataclasses.replace(made, settled=False)
        return found

    def before(self, ask: lab.Ask, asked: int) -> lab.Answer | None:
        if not ask.path.endswith(".txt") or self.robots is None:
            return None
        if callable(self.robots):
            return self.robots(ask)
        if isinstance(self.robots, lab.Answer):
            return self.robots if ask.path == "/robots.txt" else None
        return text(self.robots) if ask.path == "/robots.txt" else None


def serve(
    pages: Mapping[str, Any], *, robots: Robots | None = None, **options: Any
) -> lab.PracticeSite:
    """Serve scripted pages; the seed is ``site.url + "t/"``, the page named ``""``."""
    return lab.serve([Scripted(pages=pages, robots=robots)], **options)


def page(*hrefs: str, title: str = "Page", **options: Any) -> lab.Answer:
    """A page that links to some addresses."""
    links = bullets(lab.Anchor(href, href) for href in hrefs)
    return lab.document(title, f"Text of {title}.", main=links, **options)


def text(content: str, status: int = 200, **options: Any) -> lab.Answer:
    return lab.Answer(content.encode(), status, content_type="text/plain", **options)


def star(count: int, *, wait: float = 0.0) -> dict[str, Page]:
    """A first page that links to ``count`` leaves, each with a title of its own."""
    leaves: dict[str, Page] = {
        f"p{n}": dataclasses.replace(page(title=f"Leaf {n}"), wait=wait) for n in range(count)
    }
    return {"": page(*leaves, title="Star"), **leaves}


def crawl(seeds: Any, folder: Path, **options: Any) -> ck.Crawl:
    """Crawl without a delay and without a bar, unless told otherwise."""
    return ck.crawl(seeds, folder, **{"delay": 0, "progress": False, **options})


def paths(requests: Iterable[lab.Request]) -> list[str]:
    """What was asked for, without robots.txt, in order of arrival."""
    return [each.target for each in requests if each.path != "/robots.txt"]


def names(urls: Iterable[str]) -> list[str]:
    """Addresses without what stands before ``/t/``."""
    return [url.partition("/t/")[2] for url in urls]


def arrivals(requests: Iterable[lab.Request]) -> dict[str, list[float]]:
    """Moments at which each host was asked, in order."""
    found: dict[str, list[float]] = defaultdict(list)
    for each in sorted(requests, key=lambda request: request.at):
        found[each.host].append(each.at)
    return found


def reasons(crawl: ck.Crawl) -> dict[str, tuple[str, str | None]]:
    """State and reason of every URL, by its address behind ``/t/``."""
    urls = crawl.urls
    values = zip(urls["url"], urls["state"], urls["reason"], strict=True)
    return {
        url.partition("/t/")[2]: (state, reason if isinstance(reason, str) else None)
        for url, state, reason in values
    }


def row(frame: pd.DataFrame, url: str) -> Any:
    """The one row of a URL, as a Series."""
    found = frame[frame["url"] == url]
    assert len(found) == 1, (url, len(found))
    return found.iloc[0]


def interrupt_when(condition: Callable[[], bool]) -> Callable[[Mapping[str, Any]], None]:
    """A progress function that interrupts the cell as soon as something is true."""

    def progress(numbers: Mapping[str, Any]) -> None:
        if condition() and numbers["stop_reason"] is None:
            raise KeyboardInterrupt

    return progress


class Spread(ck.Ordering):
    """An ordering of ten lines: by the score in a table, else by discovery."""

    name = "spread"
    resumes_by = "nothing"  # so it is no copy that is told

    def __init__(self, scores: Mapping[str, float] | None = None) -> None:
        self.scores = dict(scores or {})
        self.told: list[tuple[str, Sequence[int]]] = []

    def start(self, page: ck.FoundPage) -> float:
        return self.scores.get(page.url.partition("/t/")[2], 0.0)

    def downloaded(self, page: ck.FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        self.told.append((page.url.partition("/t/")[2], list(links)))
        return {}
