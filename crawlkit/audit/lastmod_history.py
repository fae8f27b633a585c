"""What earlier audits saw of a site: one small Parquet file per round, in a folder.

A round keeps the dates of up to 5,000 entries (always the same ones, those with the least hashes,
so that rounds can be compared) and of every page that was visited, with the fingerprint of its
text.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from crawlkit.errors import BadSetting, StorageFailed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["CONTROL_ROWS", "control_rows", "empty_rounds", "read_rounds", "site_of", "write_round"]

CONTROL_ROWS = 5_000

_FLOATS = ("round_at", "lastmod_start", "lastmod_end", "at")
_TEXTS = ("site", "url", "sitemap", "reason", "text_hash", "text_hash_by", "finding", "passed")
_COLUMNS = (
    "round_at",
    "site",
    "url",
    "sitemap",
    "lastmod_start",
    "lastmod_end",
    "date_only",
    "visited",
    "at",
    "reason",
    "text_hash",
    "text_hash_by",
    "sketch",
    "draw_weight",
    "finding",
    "passed",
)


def _schema() -> pa.Schema:
    import pyarrow as pa

    def kind(name: str) -> pa.DataType:
        if name in _FLOATS or name == "draw_weight":
            return pa.float64()
        if name == "sketch":
            return pa.list_(pa.int64())
        return pa.string() if name in _TEXTS else pa.bool_()

    return pa.schema([(name, kind(name)) for name in _COLUMNS])


def site_of(dates: pd.DataFrame) -> str:
    """Return scheme and authority of most entries; ``""`` where there are none."""
    if dates.empty:
        return ""
    authorities = dates["url"].str.extract(r"^(https?://[^/?#]+)", expand=False)
    counts = authorities.value_counts()
    return str(counts.index[0]).lower() if len(counts) else ""


def control_rows(urls: pd.Series) -> pd.Series:
    """Return which entries every round keeps: those whose addresses have the least hashes."""
    import pandas as pd

    if len(urls) <= CONTROL_ROWS:
        return pd.Series(data=True, index=urls.index)
    hashes = pd.Series(
        [hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest() for url in urls],
        index=urls.index,
    )
    return hashes.rank(method="first") <= CONTROL_ROWS


def write_round(folder: str | os.PathLike[str], rows: pd.DataFrame) -> Path:
    """Append one round, whole or not at all.

    Parameters
    ----------
    folder
        Made where it is not there.
    rows
        Columns of a round; all have the same ``round_at`` and ``site``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    StorageFailed
        The folder cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(rows[list(_COLUMNS)], schema=_schema(), preserve_index=False)
    site = str(rows["site"].iloc[0])
    mark = hashlib.blake2b(site.encode(), digest_size=4).hexdigest()
    name = f"lastmod-{urlsplit(site).hostname or 'site'}-{mark}-{rows['round_at'].iloc[0]:.3f}"
    path = Path(folder) / f"{name.replace(':', '_')}.parquet"
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, part, compression="zstd")
        part.replace(path)
    except OSError as error:
        problem = f"{path.parent}: the history cannot be written ({error.strerror})."
        raise StorageFailed(f"{problem} Free some space, or pass another folder.") from error
    return path


def empty_rounds() -> pd.DataFrame:
    """Return the history of a site that was never audited."""
    frame: pd.DataFrame = _schema().empty_table().to_pandas()
    return _typed(frame)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(_TEXTS, "str"))


def read_rounds(folder: Any, site: str) -> pd.DataFrame:
    """Return all rounds of a site, oldest first.

    Parameters
    ----------
    folder
        The history; one that is not there is empty.
    site
        What `site_of` gives.

    Returns
    -------
    DataFrame
        The columns of a round, and ``round`` (int64, counted from 0). Names of files that could
        not be read are in ``attrs["unreadable"]``; the others count all the same.

    Raises
    ------
    BadSetting
        `folder` is no folder.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    if (
        not isinstance(folder, str | os.PathLike)
        or folder == ""
        or (Path(folder).exists() and not Path(folder).is_dir())
    ):
        raise BadSetting("history", f"{str(folder)!r} is no folder", "Pass the path of a folder.")
    tables, unreadable = [], []
    for path in sorted(Path(folder).glob("lastmod-*.parquet")):
        try:
            table = pq.read_table(path, schema=_schema())
            sites = table.column("site").unique().to_pylist()
        except (OSError, pa.ArrowException, ValueError):
            unreadable.append(path.name)
            continue
        if sites == [site]:
            tables.append(table)
    frame = _typed(pa.concat_tables(tables).to_pandas()) if tables else empty_rounds()
    frame = frame.sort_values("round_at", kind="stable", ignore_index=True)
    frame["round"] = pd.Series(pd.factorize(frame["round_at"])[0], dtype="int64")
    frame.attrs["unreadable"] = tuple(unreadable)
    return frame
