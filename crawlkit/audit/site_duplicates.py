"""Checks of content that several pages share: titles, texts, and texts that are nearly the same.

Only pages that ask to be shown count: 200, indexable, and no canonical that names another page.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from crawlkit.audit.near_duplicates import Sketcher, cluster_texts
from crawlkit.errors import BadURL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlkit.audit.site_pages import SitePages

__all__ = ["duplicate_content", "duplicate_titles", "near_duplicates"]

Row = dict[str, Any]

_PROBES = 20
SHORT_TEXT = 25
"""Words below which a text alone does not tell pages apart: the title must be the same, too."""


def duplicate_titles(site: SitePages) -> Iterator[Row]:
    """Give one row for each page that shares its title with another one."""
    groups: dict[str, list[int]] = defaultdict(list)
    for at, title in enumerate(site["title"]):
        if title is not None and site.counts(at):
            groups[" ".join(title.casefold().split())].append(at)
    for cluster, members in enumerate(_clusters(site, groups), start=1):
        for at in members:
            yield {
                "cluster": cluster,
                "title": site["title"][at],
                "url": site["url"][at],
                "pages": len(members),
            }


def duplicate_content(site: SitePages) -> Iterator[Row]:
    """Give one row for each page whose main text is that of another one."""
    for cluster, members in enumerate(_clusters(site, _same_texts(site)), start=1):
        for at in members:
            yield {
                "cluster": cluster,
                "url": site["url"][at],
                "pages": len(members),
                "words": site["words"][at],
                "title": site["title"][at],
            }


def _same_texts(site: SitePages) -> dict[tuple[str, str | None], list[int]]:
    groups: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for at, hashed in enumerate(site["text_hash"]):
        if hashed is not None and site.counts(at):
            words = site["words"][at]
            short = words is None or words < SHORT_TEXT
            groups[hashed, site["title"][at] if short else None].append(at)
    return groups


def _clusters(site: SitePages, groups: dict[Any, list[int]]) -> list[list[int]]:
    """Return groups of more than one page, the largest first; spellings of one page count once."""
    found = []
    for members in groups.values():
        if len(members) > 1:
            single = list({site["key"][at]: at for at in reversed(members)}.values())[::-1]
            if len(single) > 1:
                found.append(single)
    return sorted(found, key=lambda members: (-len(members), members))


def near_duplicates(site: SitePages) -> Iterator[Row]:
    """Give one row for each page whose text is nearly, but not just, that of another one."""
    chosen = _with_own_text(site)
    total = len(chosen)
    most = site.limits.bodies
    if most is not None and total > most:
        draw = random.Random(site.limits.random_seed)  # noqa: S311 - a sample, no secret
        chosen = sorted(draw.sample(chosen, most))
    sketches, read = _sketches(site, chosen)
    if chosen and not read:
        site.skipped["near_duplicates"] = (
            "no body of a page was kept; copies are found by text_hash alone, see duplicate_content"
        )
        return
    how = f"word triples of stored bodies, {site.limits.similar:.0%} in common".replace("%", " %")
    if len(sketches) < total:
        how += f"; {len(sketches):,} of {total:,} texts compared"
    site.notes["near_duplicates"] = how
    groups: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for at, (first, likeness) in enumerate(cluster_texts(sketches, similar=site.limits.similar)):
        groups[first].append((at, likeness))
    large = sorted((g for g in groups.values() if len(g) > 1), key=lambda g: (-len(g), g))
    for cluster, members in enumerate(large, start=1):
        first = site["url"][read[members[0][0]]]
        for at, likeness in members:
            page = read[at]
            yield {
                "cluster": cluster,
                "url": site["url"][page],
                "similar_to": first,
                "similarity": round(likeness, 3),
                "pages": len(members),
                "words": site["words"][page],
            }


def _with_own_text(site: SitePages) -> list[int]:
    """Return a page for each text; very short ones are no texts to compare."""
    return sorted(
        members[0]
        for members in _same_texts(site).values()
        if (site["words"][members[0]] or 0) >= SHORT_TEXT
    )


def _body(site: SitePages, at: int) -> bytes | None:
    """Return the body of a page, or None where it was not kept."""
    assert site.body is not None  # noqa: S101 - the check is skipped without bodies
    try:
        return site.body(site["url"][at])
    except (BadURL, KeyError, OSError):
        return None


def _bodies(site: SitePages, chosen: list[int]) -> Iterator[tuple[int, bytes]]:
    """Give the stored bodies of pages, all from one reader where there is one."""
    if site.bodies is None:
        for at in chosen:
            body = _body(site, at)
            if body is not None:
                yield at, body
        return
    for url, body in site.bodies(site["url"][at] for at in chosen):
        yield site.by_url[url], body


def _sketches(site: SitePages, chosen: list[int]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Read stored bodies; return sketches and pages. An interrupt keeps what has been read."""
    from tqdm.auto import tqdm

    from crawlkit.web.html import parse_page

    # Where bodies were not kept there is no need to ask for each.
    if next(_bodies(site, chosen[:: max(1, len(chosen) // _PROBES)]), None) is None:
        return [], []
    sketcher = Sketcher()
    sketches: list[tuple[int, ...]] = []
    read: list[int] = []
    bar = tqdm(
        total=len(chosen), desc="bodies", unit="page", disable=not site.progress, leave=False
    )
    try:
        for at, body in _bodies(site, chosen):
            bar.update()
            page = parse_page(body, url=site["url"][at], links_per_page=0)
            sketch = sketcher.sketch(page.main_text)
            if sketch:
                sketches.append(sketch)
                read.append(at)
    except KeyboardInterrupt:
        pass
    finally:
        bar.close()
    return sketches, read
