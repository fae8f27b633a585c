"""Files of link graphs: edge lists, GraphML, compressed sparse rows."""

from __future__ import annotations

import lzma
import re
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from crawlkit.errors import BadSetting
from crawlkit.order.graph_tables import holds_integers
from crawlkit.reprs import plain_text

if TYPE_CHECKING:
    import os

    import pandas as pd

    from crawlkit.order.link_graph import LinkGraph

__all__ = ["read_graph"]

_SOURCES = ("source", "src", "from", "from_url", "origin", "tail")
_TARGETS = ("target", "dst", "dest", "destination", "to", "to_url", "head")
_UNREADABLE = (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError)
_LONGEST_PREFACE = 10_000  # lines of comment


def read_graph(
    path: str | os.PathLike[str],
    *,
    nodes: str | os.PathLike[str] | None = None,
    hosts: Any = None,
) -> LinkGraph:
    """Read a link graph from a file.

    Parameters
    ----------
    path
        One of these, also compressed as ``.gz``, ``.bz2`` or ``.xz``:

        - an edge list, a link a line: source and target, apart by tab, comma, semicolon or
          space. With a header, its columns may be ``source`` and ``target`` (or ``src`` and
          ``dst``, ``from`` and ``to``), with ``kind`` and ``position`` as in
          :func:`~crawlkit.order.graph_inputs.link_graph`; without one, the first two columns
          count. Lines in front that begin with ``#`` or ``%`` are comments;
        - GraphML, as networkx reads it (``.graphml``);
        - NumPy arrays ``indptr`` and ``indices`` (``.npz``), as SciPy also writes them.
    nodes
        A table of the pages: ``id``, ``url`` and where known ``host``, by which the links name
        them. By default ``X.nodes.tsv.gz`` beside ``X.edges.tsv.gz``, and so for other endings,
        where that is there.
    hosts
        See :func:`~crawlkit.order.graph_inputs.link_graph`.

    Returns
    -------
    LinkGraph
        Pages in order of first mention, or as the table of pages has them; integers are numbers
        of pages.

    Raises
    ------
    BadSetting
        There is no such file, or it holds no graph.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "links.csv"
    ...     _ = file.write_text("http://a.example/,http://b.example/")
    ...     graph = read_graph(file)
    >>> graph.labels
    ['http://a.example/', 'http://b.example/']
    """
    from crawlkit.order.graph_inputs import link_graph

    file = Path(path)
    if not file.is_file():
        problem = "is a folder" if file.is_dir() else "is not there"
        remedy = "Pass a file with links; of a crawl's folder, ck.open_crawl(folder)."
        raise BadSetting("path", f"{plain_text(file)} {problem}", remedy)
    kind = re.sub(r"\.(gz|bz2|xz|zip)$", "", file.name.lower())
    if kind.endswith(".npz"):
        return link_graph(_read_arrays(file), hosts=hosts)
    if kind.endswith(".graphml"):
        return link_graph(_read_graphml(file), hosts=hosts)
    beside = _nodes_beside(file) if nodes is None else Path(nodes)
    links = _read_table(file, "path")
    if beside is None:
        return link_graph(links, hosts=hosts)
    return link_graph((_read_table(beside, "nodes"), links), hosts=hosts)


def _nodes_beside(file: Path) -> Path | None:
    beside = file.with_name(file.name.replace(".edges.", ".nodes.", 1))
    return beside if beside != file and beside.is_file() else None


def _refuse(argument: str, file: Path, problem: object) -> NoReturn:
    raise BadSetting(
        argument,
        f"{plain_text(file)} cannot be read as a graph: {plain_text(problem, longest=120)}",
        "Pass an edge list (two columns), GraphML, or an .npz with indptr and indices.",
    )


def _read_arrays(file: Path) -> Any:
    """Return a sparse array from ``indptr`` and ``indices``."""
    from zipfile import BadZipFile

    import numpy as np
    import scipy.sparse as sp

    try:
        with _opened(file) as stream:
            arrays = np.load(stream, allow_pickle=False)
            if not hasattr(arrays, "files"):
                _refuse("path", file, "it holds one array only")
            indptr, indices = arrays["indptr"], arrays["indices"]
            nodes = len(indptr) - 1
            matrix = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), (nodes, nodes))
    except (*_UNREADABLE, KeyError, BadZipFile) as error:
        _refuse("path", file, error)
    return matrix


def _read_graphml(file: Path) -> Any:
    import io

    import networkx as nx
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        with _opened(file) as stream:
            content = stream.read()
        fromstring(content, forbid_dtd=True)  # networkx by itself would expand entities
        graph = nx.read_graphml(io.BytesIO(content))
    except (*_UNREADABLE, KeyError, ParseError, DefusedXmlException, nx.NetworkXError) as error:
        _refuse("path", file, error)
    return graph if graph.is_directed() else graph.to_directed()


def _opened(file: Path) -> IO[bytes]:
    """Open a file, decompressed."""
    import bz2
    import gzip

    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    stream: IO[bytes] = openers.get(file.suffix.lower(), open)(file, "rb")
    return stream


# -- tables --------------------------------------------------------------------------------


def _read_table(file: Path, argument: str) -> pd.DataFrame:
    """Read a table of links, or one of pages, which always has a header."""
    import pandas as pd

    try:
        with _opened(file) as stream:
            comments, first = _head(stream)
            if not first:
                return pd.DataFrame({"source": [], "target": []}, dtype="str")
            separator = _separator(first)
            has_header = argument == "nodes" or _has_header(first, separator)
        with _opened(file) as stream:
            frame = pd.read_csv(
                stream,
                sep=separator,
                header=0 if has_header else None,
                skiprows=comments,
                keep_default_na=False,  # a page may be named "NA"
                na_values=[""],
                low_memory=False,
            )
    except _UNREADABLE as error:  # those of pandas are a ValueError each
        _refuse(argument, file, error)
    return frame if argument == "nodes" else _with_names(frame, file)


def _head(stream: IO[bytes]) -> tuple[int, str]:
    """Return the number of lines before the first that says something, and that line."""
    for count in range(_LONGEST_PREFACE):
        line = stream.readline(1_000_000)
        text = line.decode("utf-8-sig" if not count else "utf-8").strip(" \r\n")
        if not line or (text and text[0] not in "#%"):
            return count, text
    return _LONGEST_PREFACE, ""


def _separator(line: str) -> str:
    """Return what separates the columns; addresses may hold commas, but no tabs."""
    return next((sign for sign in ("\t", ",", ";") if sign in line), r"\s+")


def _has_header(line: str, separator: str) -> bool:
    names = {name.strip("\"' ").lower() for name in re.split(re.escape(separator), line)}
    if separator == r"\s+":
        names = {name.lower() for name in line.split()}
    return bool(names & set(_SOURCES)) and bool(names & set(_TARGETS))


def _with_names(frame: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Name the columns of the two ends; labels are text unless both are integers."""
    if len(frame.columns) < 2:
        _refuse("path", file, "it has one column only")
    frame = frame.rename(columns={name: str(name).strip().lower() for name in frame.columns})
    ends = {}
    for number, (end, spellings) in enumerate((("source", _SOURCES), ("target", _TARGETS))):
        named = [name for name in frame.columns if name in spellings]
        ends[end] = frame[named[0]] if named else frame.iloc[:, number]
    if not all(holds_integers(column) for column in ends.values()):
        ends = {end: column.astype("str") for end, column in ends.items()}
    others = {name: frame[name] for name in ("kind", "position") if name in frame.columns}
    return frame.iloc[:, :0].assign(**ends, **others)
