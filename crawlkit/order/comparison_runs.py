"""One replay of a comparison, and what all of its replays share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crawlkit.order.base import Ordering
    from crawlkit.order.link_graph import LinkGraph

__all__ = ["Plan", "RunResult", "Task", "run_task"]


class Task(NamedTuple):
    """One replay: which run, which of the orderings (None for the bound)."""

    run: int
    order: int | None


class RunResult(NamedTuple):
    """What came of a task: figures, and the curve on the grid."""

    task: Task
    figures: dict[str, float]
    curve: NDArray[np.float64]


@dataclass
class Plan:
    """All that the replays of a comparison share; ``orders`` holds one list of orderings a run."""

    graph: LinkGraph
    orders: list[list[Ordering]]
    seeds: list[NDArray[np.int64]]
    values: NDArray[np.float64]
    truth: NDArray[np.float64]
    rest: int = 0
    fetchers: int = 1
    max_pages: int | None = None
    tau_at: float = 0.25
    _reachable: dict[bytes, NDArray[np.int64]] = field(default_factory=dict)

    def without(self, kept: list[bool]) -> Plan:
        """Return the plan for helpers, without the orderings that only this process can have."""
        orders = [
            [ordering if keep else None for ordering, keep in zip(row, kept, strict=True)]
            for row in self.orders
        ]
        return replace(self, orders=cast("list[list[Ordering]]", orders), _reachable={})

    def reachable(self, run: int) -> NDArray[np.int64]:
        """Return the pages that a run can reach; kept for the last few seeds."""
        key = self.seeds[run].tobytes()
        if key not in self._reachable:
            while len(self._reachable) >= 4:
                self._reachable.pop(next(iter(self._reachable)))
            self._reachable[key] = self.graph.reachable(self.seeds[run])
        return self._reachable[key]


def run_task(plan: Plan, task: Task) -> RunResult:
    """Replay one ordering from the seeds of one run, and measure it."""
    import numpy as np

    from crawlkit.order.comparison_measures import measure_order, rank_agreement
    from crawlkit.order.simulation import download_order

    reachable = plan.reachable(task.run)
    if task.order is None:
        best = reachable[np.lexsort((reachable, -plan.values[reachable]))][: plan.max_pages]
        figures, curve = measure_order(best, plan.values, reachable)
        return RunResult(task, figures, curve)
    began = time.thread_time()
    order = download_order(
        plan.graph,
        plan.orders[task.run][task.order],
        plan.seeds[task.run],
        rest=plan.rest,
        fetchers=plan.fetchers,
        max_pages=plan.max_pages,
        values=plan.values,
    )
    seconds = time.thread_time() - began
    figures, curve = measure_order(order, plan.values, reachable)
    crawled = order[: round(plan.tau_at * len(reachable))]
    complete = len(crawled) == round(plan.tau_at * len(reachable))
    figures["tau"] = rank_agreement(plan.graph, crawled, plan.truth) if complete else np.nan
    figures["seconds"] = seconds
    return RunResult(task, figures, curve)
