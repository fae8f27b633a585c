"""What all pictures share: colors, labels, tables looked for, new axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting
from crawlkit.reprs import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["OKABE_ITO", "axes_or_new", "safe_label", "table_of"]

OKABE_ITO: dict[str, str] = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky blue": "#56B4E9",
    "bluish green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "reddish purple": "#CC79A7",
}
"""Eight colors that people with any kind of color vision can tell apart."""

_LONGEST_LABEL = 40


def safe_label(text: object, *, longest: int = _LONGEST_LABEL) -> str:
    r"""Return text that matplotlib shows as it is, in a title, on an axis or in a legend.

    Parameters
    ----------
    text
        Text from anywhere. A ``$`` pair would be read as a formula, and a legend leaves out
        labels that start with ``_``.
    longest
        Characters kept.

    Examples
    --------
    >>> print(safe_label("_price $x_{1$ {"))
     _price \$x_{1\$ {
    """
    plain = plain_text(text, longest=longest)
    escaped = plain.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped


def table_of(source: Any, name: str, argument: str, needed: Sequence[str]) -> pd.DataFrame:
    """Return a DataFrame as it is, or the table of that name of anything that has tables."""
    import pandas as pd

    # A DataFrame first: one with a column "pages" has an attribute of that name, too.
    frame = source if isinstance(source, pd.DataFrame) else getattr(source, name, None)
    if not isinstance(frame, pd.DataFrame):
        raise BadSetting(
            argument,
            f"{plain_text(repr(source), longest=80)} is neither a crawl nor a table",
            f"Pass a crawl, such as ck.open_crawl(folder), or the DataFrame of its table {name!r}.",
        )
    missing = [column for column in needed if column not in frame.columns]
    if missing:
        raise BadSetting(
            argument,
            f"the table has no column {missing[0]!r}",
            f"Pass a table with the columns {', '.join(needed)}, as crawl.{name} has them.",
        )
    return frame


def axes_or_new(ax: object, width: float, height: float) -> Axes:
    """Return the Axes that were given, or for None those of a new figure of this size, in inches.

    Raises
    ------
    BadSetting
        Something else was given as ``ax``.
    """
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt  # only here: a report draws without it

        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise BadSetting(
            "ax",
            f"{plain_text(type(ax).__name__)} is no Axes of matplotlib",
            "Pass one such as plt.subplots()[1], or None for a new figure.",
        )
    return ax
