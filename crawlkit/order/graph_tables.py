"""Tables of links to numbers: the pages in order of discovery, redirects joined through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlkit.errors import BadSetting
from crawlkit.reprs import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Numbers = NDArray[np.integer[Any]]

__all__ = ["NumberedLinks", "check_numbers", "holds_integers", "number_links", "number_pages"]

# Statements about a page, not ways to another one.
_STATEMENTS = ("canonical", "alternate")
# A chain of redirects longer than this is a loop for our purposes.
_LONGEST_CHAIN = 20
# Numbers of pages may have gaps; a greatest number like that of a hash is a mistake.
_PAGES_PER_LINK, _PAGES_ANYWAY = 100, 10_000_000
# Links handled in one step, where a step takes memory by their number.
_PIECE = 1 << 16


class NumberedLinks(NamedTuple):
    """Links as numbers of pages; the pages' labels, hosts and number where known."""

    sources: Numbers
    targets: Numbers
    labels: Sequence[Any] | None = None
    hosts: Sequence[Any] | None = None
    nodes: int | None = None


def number_links(links: pd.DataFrame, pages: pd.DataFrame | None = None) -> NumberedLinks:
    """Return the links of a table, with a number for each page.

    Parameters
    ----------
    links
        Columns ``source`` and ``target``: text, or numbers of pages; where present ``kind`` and
        ``position``.
    pages
        Column ``url`` and where present ``host``: pages that come first, in this order.

    Raises
    ------
    BadSetting
        A column is missing, or a link has no source or target.

    Examples
    --------
    >>> import pandas as pd
    >>> links = pd.DataFrame(
    ...     {"source": ["a", "a", "old"], "target": ["old", "c", "b"],
    ...      "kind": ["anchor", "anchor", "redirect"]})
    >>> number_links(links).labels, number_links(links).targets.tolist()
    (['a', 'c', 'b'], [2, 1])
    """
    import numpy as np

    need_columns(links, ("source", "target"))
    _refuse_missing(links)
    if "kind" in links.columns:
        said = links["kind"].isin(_STATEMENTS).to_numpy(bool)
        links = links[~said] if said.any() else links
    labels: Any = None
    if pages is None and len(links) and all(holds_integers(links[end]) for end in _ENDS):
        sources, targets = (links[end].to_numpy(np.int64) for end in _ENDS)
        check_numbers(sources, targets)
    else:
        sources, targets, labels = _number_text(links, None if pages is None else pages["url"])
    if "position" in links.columns:
        order = _page_order(sources, links["position"].to_numpy(np.float64, na_value=np.inf))
        if order is not None:
            sources, targets, links = sources[order], targets[order], links.iloc[order]
    numbered = NumberedLinks(sources, targets, labels)
    if pages is not None and "host" in pages.columns:
        known = pages["host"].tolist()
        # Pages that only links know come behind those of the table; they rarely exist.
        numbered = numbered._replace(hosts=known if len(known) == len(labels) else None)
    if "kind" in links.columns:
        hops = links["kind"].eq("redirect").to_numpy(bool, na_value=False)
        numbered = _join_redirects(numbered, hops) if hops.any() else numbered
    return numbered


_ENDS = ("source", "target")


def number_pages(pages: pd.DataFrame, links: pd.DataFrame) -> NumberedLinks:
    """Return links that name their pages by the ``id`` (or ``url``) of a table of pages.

    Parameters
    ----------
    pages
        Column ``id`` or ``url``, each once; where present ``url`` and ``host``.
    links
        Columns ``source`` and ``target``.

    Raises
    ------
    BadSetting
        A page is there twice, or a link names one that is not there.

    Examples
    --------
    >>> import pandas as pd
    >>> pages = pd.DataFrame({"id": [7, 9], "url": ["http://a.example/", "http://b.example/"]})
    >>> number_pages(pages, pd.DataFrame({"source": [9], "target": [7]})).sources.tolist()
    [1]
    """
    import pandas as pd

    by = "id" if "id" in pages.columns else "url"
    need_columns(pages, (by,))
    need_columns(links, _ENDS)
    _refuse_missing(links)
    names = pd.Index(pages[by])
    if not names.is_unique:
        twice = plain_text(repr(names[names.duplicated()][0]))
        raise BadSetting("graph", f"the page {twice} is there twice", "Pass each page once.")
    ends = [names.get_indexer(pd.Index(links[end])) for end in _ENDS]
    for end, numbers in zip(_ENDS, ends, strict=True):
        if len(numbers) and int(numbers.min()) < 0:
            lost = plain_text(repr(links[end].iloc[int(numbers.argmin())]))
            raise BadSetting(
                "graph",
                f"a link has the {end} {lost}, which is not in the table of pages",
                "Pass all pages, or the links alone.",
            )
    labels = pages["url" if "url" in pages.columns else by].tolist()
    hosts = pages["host"].tolist() if "host" in pages.columns else None
    return NumberedLinks(ends[0], ends[1], labels, hosts, len(pages))


def need_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    """Raise BadSetting unless a table has some columns."""
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise BadSetting(
            "graph",
            f"the table has no column {missing[0]!r}",
            f"Pass one with the columns {', '.join(needed)}; rename yours.",
        )


def _refuse_missing(links: pd.DataFrame) -> None:
    for end in _ENDS:
        count = int(links[end].isna().sum())
        if count:
            raise BadSetting(
                "graph", f"{count} links have no {end}", f"Leave them out: .dropna(subset={end!r})."
            )


def holds_integers(values: Any) -> bool:
    """Return whether a column or an array holds integers and nothing else."""
    return getattr(values.dtype, "kind", "O") in "iu" and not getattr(values, "hasnans", False)


def check_numbers(sources: Numbers, targets: Numbers) -> None:
    """Raise BadSetting for numbers that cannot be those of pages counted from 0."""
    greatest = max((int(end.max()) for end in (sources, targets) if len(end)), default=0)
    if greatest > _PAGES_PER_LINK * len(sources) + _PAGES_ANYWAY:
        raise BadSetting(
            "graph",
            f"{len(sources)} links name a page {greatest}, and pages are numbered from 0",
            "Pass the labels as text: .astype(str).",
        )


# -- text to numbers -----------------------------------------------------------------------


def _number_text(
    links: pd.DataFrame, first: pd.Series[str] | None
) -> tuple[Numbers, Numbers, list[Any]]:
    """Return labels as numbers: those of ``first`` in its order, others by first mention."""
    import numpy as np
    import pyarrow as pa

    try:
        known = _arrow_text([] if first is None else first)
        source, target = (_arrow_text(links[end]) for end in _ENDS)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return _number_objects(links, first)
    # The links of a page lie together, so its address is looked up once and not once a link.
    heads, addresses = _runs(source)
    codes, names = _encode([*known.chunks, addresses, *target.chunks])
    known_codes, head_codes, target_codes = np.split(codes, np.cumsum([len(known), len(heads)]))
    rank, order = _by_first_mention(known_codes, head_codes, heads, target_codes, len(names))
    sources = np.repeat(rank[head_codes], np.diff(np.append(heads, len(source))))
    for piece in _pieces(len(target_codes)):  # an index of NumPy's takes eight bytes each
        target_codes[piece] = rank[target_codes[piece]]
    return sources, target_codes, names.take(pa.array(order)).to_pylist()


def _encode(pieces: list[Any]) -> tuple[Numbers, Any]:
    """Return text in pieces as codes, and the text of each code."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.chunked_array(pieces, type=pa.large_string())
    codes = np.empty(len(text), dtype=np.int32)
    encoded = pc.dictionary_encode(text, memory_pool=pa.system_memory_pool())
    names = pa.array([], type=pa.large_string())
    begin = 0
    for piece in encoded.chunks:  # they share the last one's dictionary
        codes[begin : begin + len(piece)] = piece.indices
        begin += len(piece)
        names = piece.dictionary
    return codes, names


def _arrow_text(values: Any) -> Any:
    """Return a column as Arrow text in pieces, none of them copied where it is that already."""
    import pyarrow as pa

    array = pa.array(values, from_pandas=True)
    if not isinstance(array, pa.ChunkedArray):
        array = pa.chunked_array([array])
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        raise pa.ArrowTypeError("numbers keep their type as labels")
    return array.cast(pa.large_string())


def _runs(source: Any) -> tuple[Numbers, Any]:
    """Return the rows at which another source begins, or another piece of them, and the sources."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    pool = pa.system_memory_pool()  # it gives back what a step took before the next one takes more
    rows = [np.zeros(0, dtype=np.int64)]
    addresses = [pa.array([], type=pa.large_string())]
    begin = 0
    for piece in source.chunks:
        if len(piece):
            other = pc.not_equal(piece.slice(1), piece.slice(0, len(piece) - 1), memory_pool=pool)
            changes = np.flatnonzero(other.to_numpy(zero_copy_only=False)) + 1
            heads = np.append(np.zeros(1, dtype=np.int64), changes)
            addresses.append(pc.take(piece, pa.array(heads), memory_pool=pool))
            rows.append(heads + begin)
            begin += len(piece)
    return np.concatenate(rows), pa.concat_arrays(addresses, memory_pool=pool)


def _by_first_mention(
    known: Numbers, head_codes: Numbers, heads: Numbers, target_codes: Numbers, count: int
) -> tuple[Numbers, Numbers]:
    """Return the rank of each code and the codes by rank: known ones, then by first mention."""
    import numpy as np

    small = max(count, 2 * len(target_codes)) <= np.iinfo(np.int32).max
    dtype: Any = np.int32 if small else np.int64
    # Written backwards, so that what stays is the first mention; a source before its target.
    when, as_source = np.full((2, count), np.iinfo(dtype).max, dtype=dtype)
    for piece in reversed(_pieces(len(target_codes))):
        last, first = 2 * piece.stop - 1, 2 * piece.start
        when[target_codes[piece][::-1]] = np.arange(last, first, -2, dtype=dtype)
    as_source[head_codes[::-1]] = 2 * heads[::-1]
    np.minimum(when, as_source, out=when)
    when[known[::-1]] = np.arange(-1, -len(known) - 1, -1)
    order = np.argsort(when, kind="stable")
    rank = np.empty(count, dtype=dtype)
    rank[order] = np.arange(count)
    return rank, order


def _pieces(length: int) -> list[slice]:
    """Return slices that cover a length, small beside any memory."""
    return [slice(k, min(length, k + _PIECE)) for k in range(0, length, _PIECE)]


def _number_objects(
    links: pd.DataFrame, first: pd.Series[str] | None
) -> tuple[Numbers, Numbers, list[Any]]:
    """Return labels of any kind as numbers, looked up one by one."""
    import numpy as np

    numbers: dict[Any, int] = {}
    for label in () if first is None else first:
        numbers.setdefault(label, len(numbers))
    ends = np.empty((len(links), 2), dtype=np.int64)
    pairs = zip(links["source"].tolist(), links["target"].tolist(), strict=True)
    try:
        for row, (source, target) in enumerate(pairs):
            ends[row, 0] = numbers.setdefault(source, len(numbers))
            ends[row, 1] = numbers.setdefault(target, len(numbers))
    except TypeError as error:
        raise BadSetting("graph", f"a label cannot be looked up: {error}", "Pass text.") from error
    return ends[:, 0], ends[:, 1], list(numbers)


# -- the order of links, redirects ---------------------------------------------------------


def _page_order(sources: Numbers, positions: NDArray[np.float64]) -> Numbers | None:
    """Return the order by position within each page; ``None`` where it is so already."""
    import numpy as np

    falls = (sources[1:] == sources[:-1]) & (positions[1:] < positions[:-1])
    heads = np.count_nonzero(sources[1:] != sources[:-1]) + min(1, len(sources))
    if not falls.any() and heads == len(np.unique(sources)):
        return None
    return np.lexsort((positions, sources))


def _join_redirects(links: NumberedLinks, hops: NDArray[np.bool_]) -> NumberedLinks:
    """Let links to a page that redirects lead to where that ends; leave out what is in between."""
    import numpy as np

    sources, targets = links.sources, links.targets
    onward = dict(zip(sources[hops].tolist(), targets[hops].tolist(), strict=True))
    greatest = int(max(sources.max(), targets.max()))
    nodes = greatest + 1 if links.labels is None else len(links.labels)
    ends = np.arange(nodes)
    for page in onward:
        ends[page] = _end_of_chain(page, onward)
    sources, targets = sources[~hops], ends[targets[~hops]]
    used = np.ones(nodes, dtype=bool)
    used[list(onward)] = False
    used[sources] = True
    used[targets] = True
    if links.labels is None:  # numbers stay what they are
        return links._replace(sources=sources, targets=targets, nodes=nodes)
    number = np.cumsum(used) - 1
    kept = np.flatnonzero(used).tolist()
    labels, hosts = links.labels, links.hosts
    return NumberedLinks(
        number[sources],
        number[targets],
        [labels[page] for page in kept],
        None if hosts is None else [hosts[page] for page in kept],
        len(kept),
    )


def _end_of_chain(page: int, onward: dict[int, int]) -> int:
    """Follow redirects to their end; a loop ends where it began."""
    start = page
    for _ in range(_LONGEST_CHAIN):
        if page not in onward:
            return page
        page = onward[page]
        if page == start:
            break
    return start
