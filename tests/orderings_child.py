"""A process that crawls one site in many orderings, and dies again and again on the way.

It is told by one JSON argument: ``seeds``, ``folder``, ``orders`` (names, or ``"own"``) and
``faults``. Each ordering has a folder below the folder and lives that share it: forks, each of
which dies at its fault point (``point:n``), and a last one that crawls to the end. It prints how
the lives ended, by ordering.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl_child import load_everything

import crawlkit as ck
from crawlkit.crawling import faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SEED = 7


class LatestLinked(ck.Ordering):
    """An ordering of ten lines: what the latest pages link to goes first."""

    name = "latest_linked"
    downloads = 0

    def start(self, page: ck.FoundPage) -> float:
        return self.downloads

    def downloaded(self, page: ck.FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        self.downloads += 1
        return dict.fromkeys(links, self.downloads)


def ordering(name: str) -> Any:
    """Return an ordering to crawl or replay with; some with parameters that matter early."""
    if name == "own":
        return LatestLinked()
    if name == "partial_pagerank":
        return ck.ORDERINGS[name](k=7)  # type: ignore[call-arg]
    return name


def crawl(seeds: Any, folder: Path, name: str) -> ck.Crawl:
    return ck.crawl(
        seeds, folder, order=ordering(name), delay=0, workers=1, progress=False, random_seed=SEED
    )


def main() -> None:
    told = json.loads(sys.argv[1])
    load_everything()
    importlib.import_module("scipy.sparse")
    ends: dict[str, list[int]] = {name: [] for name in told["orders"]}
    for name, codes in ends.items():
        for fault in (*told["faults"], ""):
            child = os.fork()
            if child == 0:
                os.environ["CRAWLKIT_FAULT"] = fault
                importlib.reload(faults)
                try:
                    crawl(told["seeds"], Path(told["folder"]) / name, name)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(json.dumps(ends), flush=True)


if __name__ == "__main__":
    main()
