"""Labels on curves: each where it hides least."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Curve = tuple[str, str, Sequence[float], Sequence[float]]

__all__ = ["place_labels", "wrapped"]


class _Box(NamedTuple):
    """A rectangle in shares of the axes."""

    left: float
    low: float
    right: float
    high: float

    def holds(self, points: NDArray[np.float64]) -> int:
        inside = (points[:, 0] >= self.left) & (points[:, 0] <= self.right)
        inside &= (points[:, 1] >= self.low) & (points[:, 1] <= self.high)
        return int(inside.sum())

    def overlaps(self, other: _Box) -> bool:
        apart = self.left > other.right or other.left > self.right
        return not (apart or self.low > other.high or other.low > self.high)


def place_labels(ax: Axes, curves: Sequence[Curve], *, size: float = 8.0) -> None:
    """Write the label of each curve beside it, away from other curves and labels.

    Parameters
    ----------
    ax
        Axes on which the curves are drawn, with their limits set.
    curves
        For each its label, color, and the coordinates of its points.
    size
        Size of the letters in points.
    """
    import matplotlib.patheffects as effects
    import numpy as np

    figure = ax.get_figure(root=True)
    if figure is None:
        return
    place = ax.get_position()
    width, height = figure.get_size_inches() * (place.width, place.height) * 72
    across = np.linspace(0.0, 1.0, 301)
    shares = []
    for _, _, x, y in curves:
        points = np.column_stack([np.asarray(x, float), np.asarray(y, float)])
        at = ax.transAxes.inverted().transform(ax.transData.transform(points))
        inside = across[(across >= at[:, 0].min()) & (across <= at[:, 0].max())]
        shares.append(np.column_stack([inside, np.interp(inside, at[:, 0], at[:, 1])]))
    taken: list[_Box] = []
    for number, (label, color, _, _) in enumerate(curves):
        wide, tall = len(label) * size * 0.58 / width, size * 1.25 / height
        others = [points for other, points in enumerate(shares) if other != number]
        box, anchor = _best_place(shares[number], others, taken, wide, tall)
        taken.append(box)
        text = ax.annotate(
            label, anchor, (box.left, box.low + tall * 0.25), xycoords="axes fraction",
            textcoords="axes fraction", color=color, fontsize=size, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.6, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        text.set_path_effects([effects.withStroke(linewidth=2.5, foreground="white")])


def wrapped(ax: Axes, title: str, *, size: float = 10.0) -> str:
    """Return a title in lines that fit above the axes, for letters of some size in points."""
    import textwrap

    figure = ax.get_figure(root=True)
    inches = 6.0 if figure is None else figure.get_size_inches()[0] * ax.get_position().width
    return textwrap.fill(title, max(20, int(inches * 72 / (size * 0.56))))


def _best_place(
    own: NDArray[np.float64],
    others: Sequence[NDArray[np.float64]],
    taken: Sequence[_Box],
    wide: float,
    tall: float,
) -> tuple[_Box, tuple[float, float]]:
    """Return the cheapest rectangle near a curve, and the point of the curve it belongs to."""
    best: tuple[float, _Box, tuple[float, float]] | None = None
    for x, y in own[10:-10:6] if len(own) > 30 else own:
        for gap in (0.4, 1.5, 3.0, 5.0):
            for left, low in (
                (x - wide - gap * tall, y + gap * tall * 0.5),  # above, to the left
                (x + gap * tall, y - tall - gap * tall * 0.5),  # below, to the right
            ):
                box = _Box(left, low, left + wide, low + tall)
                outside = left < 0.005 or low < 0.01 or box.right > 0.995 or box.high > 0.995
                cost = 1000.0 * outside + 100.0 * sum(box.overlaps(other) for other in taken)
                cost += 2.0 * sum(box.holds(points) for points in others) + 2.0 * box.holds(own)
                cost += gap * 1.5 + 3.0 * min(abs(x - near) for near in (0.25, 0.6))
                # The line from label to curve should cross no other curve.
                crossed = _Box(min(x, left), min(y, low), max(x, left), max(y, low))
                cost += 0.6 * sum(crossed.holds(points) for points in others)
                if best is None or cost < best[0]:
                    best = cost, box, (float(x), float(y))
    if best is None:
        return _Box(0, 0, wide, tall), (0.0, 0.0)
    return best[1], best[2]
