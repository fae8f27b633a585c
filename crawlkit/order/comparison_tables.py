"""From the results of replays to the tables of a comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from crawlkit.order.comparison_measures import GRID, HOT_AT, paired_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from crawlkit.order.comparison_runs import Plan, RunResult

__all__ = ["complete_runs", "curves_table", "figures_table", "runs_frame"]

_FIGURES = ("auc", "half", *(f"hot_{percent}" for percent in HOT_AT), "tau", "seconds")
_GAINS = ("auc_gain", "auc_gain_low", "auc_gain_high", "wins")
_COLUMNS = ("auc", "auc_sd", *_GAINS, *_FIGURES[1:])


def complete_runs(results: Sequence[RunResult], needed: int) -> list[RunResult]:
    """Return the results of the runs in which no ordering is missing; without any, all."""
    counts: dict[int, int] = {}
    for result in results:
        counts[result.task.run] = counts.get(result.task.run, 0) + 1
    complete = {run for run, count in counts.items() if count == needed}
    kept = [result for result in results if not complete or result.task.run in complete]
    last = needed - 1  # where the bound stands
    return sorted(
        kept, key=lambda one: (one.task.run, last if one.task.order is None else one.task.order)
    )


def _name(result: RunResult, names: Sequence[str]) -> str:
    return names[-1 if result.task.order is None else result.task.order]


def runs_frame(plan: Plan, results: Sequence[RunResult], names: Sequence[str]) -> pd.DataFrame:
    """Return one row a run and ordering, with its figures."""
    import pandas as pd

    labels = plan.graph.labels
    first = [int(seeds[0]) if len(seeds) else -1 for seeds in plan.seeds]
    numbers = {
        name: pd.Series([one.figures.get(name, math.nan) for one in results], dtype="float64")
        for name in _FIGURES
    }
    nodes = [first[one.task.run] for one in results]
    seeds = nodes if labels is None else [labels[node] for node in nodes]
    return pd.DataFrame(
        {
            "run": pd.Series([one.task.run for one in results], dtype="int64"),
            "seed": pd.Series(seeds, dtype=None if seeds else "object"),
            "ordering": pd.Series([_name(one, names) for one in results], dtype="str"),
            **numbers,
        }
    )


def figures_table(runs: pd.DataFrame, names: Sequence[str], base: str) -> pd.DataFrame:
    """Return one row an ordering: means over the runs, and differences to ``base``."""
    import pandas as pd

    reference = runs[runs["ordering"] == base].set_index("run")["auc"]
    rows = []
    for name in names:
        own = runs[runs["ordering"] == name].set_index("run")
        if not len(own):
            continue
        row: dict[str, Any] = {"ordering": name, "runs": len(own)}
        row.update({figure: float(own[figure].mean()) for figure in _FIGURES})
        row["auc_sd"] = float(own["auc"].std(ddof=1)) if len(own) > 1 else math.nan
        gains = (own["auc"] - reference).dropna().to_numpy()
        if name == base or not len(gains):
            row.update(dict.fromkeys(_GAINS, math.nan))
        else:
            row.update(zip(_GAINS, (*paired_interval(gains), (gains > 0).mean()), strict=True))
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["ordering", "runs", *_COLUMNS])
    types = {"ordering": "str", "runs": "int64", **dict.fromkeys(_COLUMNS, "float64")}
    return frame.astype(types)


def curves_table(results: Sequence[RunResult], names: Sequence[str]) -> pd.DataFrame:
    """Return the mean curve of each ordering, with the 10th and 90th percentile."""
    import numpy as np
    import pandas as pd

    grid = np.linspace(0.0, 1.0, GRID)
    parts = []
    for name in names:
        found = [one.curve for one in results if _name(one, names) == name]
        if found:
            heights = np.stack(found)
            low, high = _quantiles(heights)
            parts.append(
                pd.DataFrame(
                    {
                        "ordering": pd.Series([name] * GRID, dtype="str"),
                        "page_share": grid,
                        "value_share": heights.mean(axis=0),
                        "low": low,
                        "high": high,
                    }
                )
            )
    if parts:
        return pd.concat(parts, ignore_index=True)
    columns = ("page_share", "value_share", "low", "high")
    empty = {name: pd.Series([], dtype="float64") for name in columns}
    return pd.DataFrame({"ordering": pd.Series([], dtype="str"), **empty})


def _quantiles(heights: NDArray[np.float64]) -> tuple[Any, Any]:
    import numpy as np

    return tuple(np.quantile(heights, (0.1, 0.9), axis=0))
