"""Tables of seeds: checked addresses with where they come from, and what was refused.

Every seed source fills a `SeedTable`, so that all of them have the same first four columns with
the same types, also when there is no row, and so that no refused address goes unseen.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from crawlkit.web.url_addresses import Refusal, resolve_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = ["MOST_REFUSED", "SEED_COLUMNS", "RefusedRows", "SeedTable", "moment"]

#: The columns of every table of seeds, with their dtypes.
SEED_COLUMNS: dict[str, str] = {
    "url": "str",
    "source": "str",
    "lastmod": "datetime64[us, UTC]",
    "found_in": "str",
}

#: Refused rows that are kept; more are only counted.
MOST_REFUSED = 10_000

_SHOWN = 500


class RefusedRows(tuple[dict[str, Any], ...]):
    """Rows that gave no seed: dicts with `url`, `reason` and `found_in`, or as a table.

    pandas copies the attributes of a frame with every operation; these rows are never changed, so
    a copy of them is they themselves.

    Examples
    --------
    >>> rows = RefusedRows([{"url": "mailto:a@b.example", "reason": "not_http", "found_in": None}])
    >>> rows.table["reason"].tolist()
    ['not_http']
    """

    __slots__ = ()

    @property
    def table(self) -> pd.DataFrame:
        """The rows as a DataFrame with the columns `url`, `reason` and `found_in` (str)."""
        import pandas as pd

        names = ("url", "reason", "found_in")
        columns = {name: pd.Series([row.get(name) for row in self], dtype="str") for name in names}
        return pd.DataFrame(columns)

    def __deepcopy__(self, memo: object) -> Self:
        return self


class SeedTable:
    """Collects seeds row by row.

    Parameters
    ----------
    source
        What the column `source` says, for example ``"feed"``.
    extra
        Further columns with their dtypes.
    repeated
        Whether one address may stand in several rows; if not, its first row is kept and the
        others are counted.

    Attributes
    ----------
    duplicates : int
        Rows left out because their address was there already.
    refused_count : int
        Rows refused, those included that are not kept in full.

    Examples
    --------
    >>> table = SeedTable("feed")
    >>> table.add("/news", base="https://example.com/feed", found_in="https://example.com/feed")
    True
    >>> table.add("mailto:ann@example.com")
    False
    >>> frame = table.frame()
    >>> frame["url"].tolist(), [row["reason"] for row in frame.attrs["refused"]]
    (['https://example.com/news'], ['not_http'])
    """

    def __init__(
        self, source: str, extra: Mapping[str, str] | None = None, *, repeated: bool = False
    ) -> None:
        self.duplicates = 0
        self.refused_count = 0
        self._source = source
        self._extra = tuple(extra or ())
        self._types = SEED_COLUMNS | dict(extra or {})
        self._rows: list[tuple[Any, ...]] = []
        self._refused: list[dict[str, Any]] = []
        self._seen: set[str] | None = None if repeated else set()

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self,
        url: object,
        *,
        base: str | None = None,
        lastmod: float | datetime | None = None,
        found_in: str | None = None,
        **extra: object,
    ) -> bool:
        """Add one address; refuse it, with the reason, when it cannot be asked for.

        Parameters
        ----------
        url
            The address as found.
        base
            What a relative one is resolved against.
        lastmod
            When the page was last changed: seconds since 1970, or a datetime.
        found_in
            The file, feed or page that names it.
        **extra
            Values of the further columns; those left out are null.

        Returns
        -------
        bool
            Whether the address is in the table now for the first time.
        """
        if not isinstance(url, str):
            return self.refuse(url, "not_text", found_in)
        address = resolve_address(url, base)
        if isinstance(address, Refusal):
            return self.refuse(url, address.reason, found_in)
        return self.add_address(address, lastmod=lastmod, found_in=found_in, **extra)

    def add_address(
        self,
        address: str,
        *,
        lastmod: float | datetime | None = None,
        found_in: str | None = None,
        **extra: object,
    ) -> bool:
        """Add what `resolve_address` returned; otherwise like `add`."""
        if self._seen is not None:
            if address in self._seen:
                self.duplicates += 1
                return False
            self._seen.add(address)
        changed = None if lastmod is None else moment(lastmod)
        more = map(extra.get, self._extra)
        self._rows.append((address, self._source, changed, found_in, *more))
        return True

    def refuse(self, url: object, reason: str, found_in: str | None = None) -> bool:
        """Note a row that gives no seed; returns False."""
        self.refused_count += 1
        if len(self._refused) < MOST_REFUSED:
            shown = None if url is None else str(url)[:_SHOWN]
            self._refused.append({"url": shown, "reason": reason, "found_in": found_in})
        return False

    def frame(self, **attributes: object) -> pd.DataFrame:
        """Return the table, with `attributes` and the refused rows in ``.attrs``."""
        import pandas as pd

        values = list(zip(*self._rows, strict=True)) or [()] * len(self._types)
        columns = {
            name: pd.Series(list(column), dtype=kind)
            for column, (name, kind) in zip(values, self._types.items(), strict=True)
        }
        frame = pd.DataFrame(columns)
        frame.attrs.update(attributes)
        frame.attrs["duplicates"] = self.duplicates
        frame.attrs["refused_count"] = self.refused_count
        frame.attrs["refused"] = RefusedRows(self._refused)
        return frame


def moment(value: float | datetime | None) -> datetime | None:
    """Return a time in UTC; None for none, and for one that no calendar holds.

    Examples
    --------
    >>> moment(0.0)
    datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    >>> moment(1e30) is None
    True
    """
    if value is None or value != value:  # noqa: PLR0124 - NaN and NaT differ from themselves
        return None
    try:
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, ValueError, OSError):
        return None
