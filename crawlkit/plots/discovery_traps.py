"""Which pages of a curve of discovery lie in traps, as `find_traps` tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlkit.errors import BadSetting
from crawlkit.plots.style import safe_label
from crawlkit.reprs import plain_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["TrapRows", "trap_rows"]

_MARKS = 2_000
"""Marks that are told apart on a picture."""


@dataclass(frozen=True)
class TrapRows:
    """The traps of a crawl, and which of them each page lies in.

    Attributes
    ----------
    names
        Kind and pattern of each trap, worst first.
    trap
        Position of the trap of each page, -1 for none.
    """

    names: list[tuple[str, str]]
    trap: list[int]

    def outside(self, groups: list[str]) -> list[str | None]:
        """Return the groups, None for those of pages in traps."""
        return [None if trap >= 0 else group for trap, group in zip(self.trap, groups, strict=True)]

    def layers(self, most: int) -> list[tuple[str, list[bool]]]:
        """Return label and rows of each trap; the last of ``most`` has all that are left."""
        own = len(self.names) if len(self.names) <= most else most - 1
        layers = [(self._label(at), [trap == at for trap in self.trap]) for at in range(own)]
        if own < len(self.names):
            rest = f"{len(self.names) - own} other traps"
            layers.append((rest, [trap >= own for trap in self.trap]))
        return layers

    def _label(self, at: int) -> str:
        """Return kind and pattern; without the host, where that leaves no doubt."""
        kind, pattern = self.names[at]
        short = [(kind, _path_of(pattern)) for kind, pattern in self.names]
        path = _path_of(pattern) if short.count(short[at]) == 1 else pattern
        return safe_label(f"trap: {kind} {path}")

    def title(self, calm: str) -> str:
        """Return the title of the picture; ``calm`` is what the curve says by itself."""
        if not self.names:
            return f"No trap found. {calm}" if len(self.trap) else calm
        late = self.trap[len(self.trap) * 2 // 3 :]
        share = sum(trap >= 0 for trap in late) / max(1, len(late))
        kinds = list(dict.fromkeys(kind for kind, _ in self.names))
        shown = safe_label(", ".join(kinds[:2]) + (" ..." if len(kinds) > 2 else ""))
        many = "s" if len(self.names) > 1 else ""
        # What the curve says besides; how far a crawl in a trap is nobody can tell.
        beside = calm.rpartition("\n")[2]
        return f"Trap{many}: {shown}, {share:.0%} of the last pages".replace("%", " %") + (
            f"\n{beside}"
        )

    def mark_pages(self, ax: Axes, color: str) -> None:
        """Mark at the bottom where pages of traps were fetched: they may make no new URLs."""
        step = max(1, len(self.trap) // _MARKS)
        places = sorted({at // step * step + 1 for at, trap in enumerate(self.trap) if trap >= 0})
        if places:
            ax.vlines(
                places, 0, 0.03, transform=ax.get_xaxis_transform(), color=color, linewidth=1.2
            )


def _path_of(pattern: str) -> str:
    host, slash, rest = pattern.partition("/")
    return slash + rest if slash and "." in host else pattern


def trap_rows(rows: pd.DataFrame, traps: object) -> TrapRows:
    """Return which trap each row of a crawl lies in.

    Parameters
    ----------
    rows
        Fetched pages, with their ``url``.
    traps
        What `find_traps` returned, or some of its rows. Those that are ``undecided`` are no traps.

    Raises
    ------
    BadSetting
        It is something else, or the pages have no URLs.
    """
    import pandas as pd

    needed = {"kind", "pattern", "verdict"}
    known = traps.attrs.get("pages") if isinstance(traps, pd.DataFrame) else None
    if not isinstance(traps, pd.DataFrame) or known is None or not needed <= set(traps.columns):
        shown = plain_text(type(traps).__name__)
        raise BadSetting(
            "traps", f"{shown} is not what find_traps returned", "Pass ck.find_traps(crawl)."
        )
    chosen = traps[traps["verdict"] == "trap"]
    names = [
        (str(kind), str(name)) for kind, name in zip(chosen["kind"], chosen["pattern"], strict=True)
    ]
    if names and "url" not in rows.columns:
        raise BadSetting("traps", "the pages of the curve have no URLs", "Pass the crawl itself.")
    places = {name: at for at, name in reversed(list(enumerate(names)))}
    of_url: dict[str, int] = {}
    for kind, pattern, urls in known:
        at = places.get((kind, pattern))
        if at is not None:
            of_url.update(dict.fromkeys(urls, at))
    trap = [of_url.get(url, -1) for url in rows["url"].tolist()] if names else [-1] * len(rows)
    return TrapRows(names, trap)
