"""The data that comes with crawlkit: small tables to try things on, with where they are from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting, CrawlkitError
from crawlkit.reprs import facts_html, format_number, plain_text

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

__all__ = ["DataSet", "data_names", "load_data"]

_PACKAGE = Path(__file__).resolve().parent
# In an installed wheel the files lie in the package, in a checkout beside it.
_PLACES = (_PACKAGE / "data", _PACKAGE.parent / "data")
_INDEX = "index.json"


@dataclass(frozen=True, repr=False)
class DataSet:
    """Some tables that belong together; each is also an attribute, such as ``pages``.

    Where there are ``pages`` and ``links``, functions that take a crawl take this, too.

    Parameters
    ----------
    name
        Name of the set.
    what, origin, license
        What it holds, where it is from, and under which terms.
    tables
        The tables by name.
    """

    name: str
    what: str
    origin: str
    license: str
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def graph(self) -> nx.DiGraph[str]:
        """Return the link graph of the tables ``pages`` and ``links``, as ``crawl.graph()`` does.

        Raises
        ------
        BadSetting
            The set has no such tables.
        """
        from crawlkit.order.graph import graph_from_tables

        if not {"pages", "links"} <= set(self.tables):
            raise BadSetting("graph", f"{self.name} holds no links", "Load another set.")
        return graph_from_tables(self.tables["pages"], self.tables["links"])

    def __getattr__(self, name: str) -> pd.DataFrame:
        tables: dict[str, pd.DataFrame] = self.__dict__.get("tables", {})
        if name not in tables:
            raise AttributeError(f"the set has no table {name!r}; it has {', '.join(tables)}")
        return tables[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.tables})

    def __repr__(self) -> str:
        sizes = (f"{format_number(len(table))} {name}" for name, table in self.tables.items())
        return f"<DataSet {self.name!r}: {', '.join(sizes)}>"

    def _repr_html_(self) -> str:
        sizes = [
            (name, f"{format_number(len(table))} rows: {', '.join(map(str, table.columns))}")
            for name, table in self.tables.items()
        ]
        said = [("what", self.what), ("origin", self.origin), ("license", self.license)]
        return facts_html(f"Data {plain_text(self.name)}", [*sizes, *said])


def data_names() -> list[str]:
    """Return the names of the data that comes with crawlkit.

    Returns
    -------
    list of str
        Names for :func:`load_data`, sorted.

    Raises
    ------
    CrawlkitError
        The installation lacks its data.

    Examples
    --------
    >>> "sqlite_docs" in data_names()
    True
    """
    return sorted(_index()[1])


def load_data(name: str) -> DataSet:
    """Return one of the sets of data that come with crawlkit.

    Parameters
    ----------
    name
        One of :func:`data_names`. ``python_docs`` and ``sqlite_docs`` are two documentation
        sites as crawled by crawlkit, breadth first, from their start page. ``sitemap_entries``
        are the entries of three sitemaps of the practice site. ``lab_traps`` is a crawl of the
        practice site with two traps and many faults, which every audit takes.

    Returns
    -------
    DataSet
        With ``what``, ``origin`` and ``license``, and a DataFrame for each of its tables. Those
        of the documentation sites are ``pages``, one row a page in the order of the downloads
        (``url host found_on error content_type redirected_to title``: text; ``depth status size
        links_found new_urls seq``: Int64), and ``links``, one row a link in the order of the
        page (``source target region kind``: text; ``position``: Int64; ``internal``: boolean);
        what the columns mean is told in ``crawlkit/crawling/schema.py``. Those of
        ``sitemap_entries`` are ``stamped`` (lastmod is when the file was made), ``absent`` (there
        is none) and ``honest``: columns of `read_sitemaps`, and ``changed_at`` (datetime64[us,
        UTC]), when the page truly changed last. Those of ``lab_traps`` are ``pages``, ``links``,
        ``fetches`` and ``urls`` with most columns of a crawl's, and ``entries``: what the sitemap
        lists.

    Raises
    ------
    BadSetting
        There is no set of that name.
    CrawlkitError
        The installation lacks its data.

    Examples
    --------
    >>> data = load_data("sqlite_docs")
    >>> data
    <DataSet 'sqlite_docs': 1,184 pages, 49,549 links>
    >>> int((data.pages["status"] == 404).sum())
    426
    >>> from crawlkit.audit.traps import find_traps
    >>> find_traps(load_data("lab_traps"))[["kind", "pages", "pending", "exclude"]]
                 kind  pages  pending        exclude
    0  search_results    263      557  /searches/?q=
    1       path_loop     80      256     /loop/*/*/
    """
    import pandas as pd

    folder, index = _index()
    if not isinstance(name, str) or name not in index:
        raise BadSetting(
            "name",
            f"there is no data named {plain_text(repr(name), longest=80)}",
            f"Pass one of {', '.join(sorted(index))}.",
        )
    entry = index[name]
    tables = {table: pd.read_parquet(folder / file) for table, file in entry["tables"].items()}
    return DataSet(name, entry["what"], entry["origin"], entry["license"], tables)


def _index() -> tuple[Path, dict[str, Any]]:
    """Return the folder of the data, and its index by name."""
    for folder in _PLACES:
        if (folder / _INDEX).is_file():
            index: dict[str, Any] = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
            return folder, index
    raise CrawlkitError("this installation lacks its data. Install crawlkit anew.")
