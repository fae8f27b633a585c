"""Kills crawls, and says what is wrong with what they leave: shared by tests and benchmark."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import crawlkit as ck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from crawlkit.lab import PracticeSite, Request

__all__ = [
    "FAST",
    "KILLS",
    "SLOW",
    "KillRun",
    "Life",
    "Variant",
    "differences",
    "files_of",
    "kill_moments",
    "pages_left",
    "state_of",
    "ten_kills",
]

CHILD = Path(__file__).with_name("crawl_child.py")
KILLS = 10
PATIENCE = 120.0


class Life:
    """One process that crawls, from its start to its end or death; see crawl_child.py.

    Parameters
    ----------
    site
        The practice site, whose log tells when the crawl has begun.
    folder
        The crawl folder.
    fault
        ``point:n``, where the process is to die.
    options
        Options of crawl_child.py; by default the shop is crawled at once.
    """

    def __init__(
        self, site: PracticeSite, folder: Path, *, fault: str | None = None, **options: Any
    ) -> None:
        self._site = site
        self._before = len(site.requests)
        told: dict[str, Any] = {"folder": str(folder), **options}
        if "read_until" not in told:
            told = {"seeds": site.url + "shop/", "delay": 0, "extract": "product", **told}
        environment = {name: text for name, text in os.environ.items() if name != "CRAWLKIT_FAULT"}
        if fault is not None:
            environment["CRAWLKIT_FAULT"] = fault
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), json.dumps(told)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def requests(self) -> list[Request]:
        """Return the requests since this life began."""
        return self._site.requests[self._before :]

    def first_request(self) -> Request | None:
        """Wait for the first request of this life; None if it ended without one."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            ended = self.process.poll() is not None
            found = self.requests()
            if found:
                return found[0]
            if ended:
                return None
            time.sleep(0.001)
        raise TimeoutError("the crawl asked for nothing")

    def reach(self, requests: int) -> None:
        """Wait until so many requests of this life have come in."""
        until = time.monotonic() + PATIENCE
        while len(self.requests()) < requests:
            if self.process.poll() is not None:
                raise AssertionError(f"the child ended early: {self.end()}")
            if time.monotonic() > until:
                raise TimeoutError(f"only {len(self.requests())} requests came")
            time.sleep(0.001)

    def signal_after(self, seconds: float, *signals: signal.Signals, apart: float = 0.0) -> bool:
        """Send signals so many seconds after the first request; False if it had ended by then."""
        first = self.first_request()
        if first is None:
            return False
        time.sleep(max(0.0, first.at + seconds - time.monotonic()))
        for number, each in enumerate(signals):
            if number:
                time.sleep(apart)
            if self.process.poll() is not None:
                return number > 0
            self.process.send_signal(each)
        return True

    def kill_after(self, seconds: float) -> bool:
        """Kill the process so many seconds after its first request; False if it had ended."""
        if not self.signal_after(seconds, signal.SIGKILL):
            return False
        return self.process.wait(PATIENCE) == -signal.SIGKILL

    def end(self) -> tuple[int, dict[str, Any]]:
        """Wait for the end; return the exit code and what the process printed."""
        out, errors = self.process.communicate(timeout=PATIENCE)
        code = self.process.returncode
        if code == 1 or (code == 0 and not out):
            raise AssertionError(f"the child broke:\n{errors[-4000:]}")
        answer: dict[str, Any] = json.loads(out) if out.strip() else {}
        return code, answer


# -- what a crawl has left -----------------------------------------------------------------


def state_of(folder: Path) -> dict[str, int]:
    """Return how many URLs are in each state."""
    counts: dict[str, int] = ck.open_crawl(folder).summary()["urls"]
    return counts


def pages_left(folder: Path) -> int:
    """Return how many URLs of a crawl are still to be had."""
    states = state_of(folder)
    return states["pending"] + states["leased"]


def files_of(folder: Path) -> set[str]:
    """Return the names of the files below a crawl folder's tables."""
    return {f"{path.parent.name}/{path.name}" for path in folder.glob("*/*")}


class _Findings(list[str]):
    """Differences, in words."""

    def expect(self, what: str, got: object, wanted: object) -> None:
        if got != wanted:
            self.append(f"{what}: {_short(got)} instead of {_short(wanted)}")

    def expect_set(self, what: str, got: Sequence[Any], wanted: set[Any]) -> None:
        if len(got) != len(set(got)):
            self.append(f"{what}: {len(got) - len(set(got))} twice")
        if missing := wanted - set(got):
            self.append(f"{what}: {len(missing)} missing, such as {_short(min(missing))}")
        if more := set(got) - wanted:
            self.append(f"{what}: {len(more)} too many, such as {_short(min(more))}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


def differences(folder: Path, site: PracticeSite, section: str = "shop") -> list[str]:
    """Return every difference between a finished crawl of a section and the truth about it."""
    crawl = ck.open_crawl(folder)
    found = _Findings()
    summary = crawl.summary()
    found.expect("stop_reason", summary["stop_reason"], "finished")
    truth = site.truth.urls(section)
    pages, links, fetches, urls = crawl.pages, crawl.links, crawl.fetches, crawl.urls
    found.expect_set("pages", list(pages["url"]), truth)
    found.expect("statuses", set(pages["status"]), {200})
    found.expect("errors", int(pages["error"].notna().sum()), 0)
    found.expect_set("urls", list(urls["url"]), truth)
    found.expect("states", set(urls["state"]), {"done"})
    found.expect("requests in the summary", summary["requests"], len(fetches))
    _compare_depths(found, pages, site)
    _compare_links(found, pages, links, site, truth)
    _compare_fetches(found, fetches, pages, site)
    _compare_records(found, crawl.records, site)
    _compare_bodies(found, crawl, pages)
    _compare_files(found, folder)
    return list(found)


def _compare_depths(found: _Findings, pages: pd.DataFrame, site: PracticeSite) -> None:
    true = site.truth.pages.set_index("url")["depth"]
    wrong = pages["depth"].to_numpy() < true.reindex(pages["url"]).to_numpy()
    found.expect("pages less deep than they can be", int(wrong.sum()), 0)
    sources = set(pages["found_on"].dropna())
    found.expect("pages found on pages unknown", sources - set(pages["url"]), set())
    found.expect("pages found on none", int(pages["found_on"].isna().sum()), 1)


def _compare_links(
    found: _Findings,
    pages: pd.DataFrame,
    links: pd.DataFrame,
    site: PracticeSite,
    truth: set[str],
) -> None:
    found.expect("links twice", int(links.duplicated(["source", "position"]).sum()), 0)
    anchors = links[links["kind"].isin(["anchor", "pagination"])]
    pairs = set(zip(anchors["source"], anchors["target"], strict=True))
    true = site.truth.links
    true = true[true["source"].isin(truth)]
    found.expect_set("links", list(pairs), set(zip(true["source"], true["target"], strict=True)))
    # Every listing and every product page has as many links as its true page has.
    counted = anchors.groupby("source").size()
    wanted = {url: len(site.truth.links_of(url)) for url in truth}
    wrong = [url for url, count in wanted.items() if counted.get(url, 0) != count]
    found.expect("pages with links too few or too many", wrong, [])
    new = int(links["new"].sum())
    found.expect("links marked new", new, len(pages) - 1)
    found.expect("new_urls of pages", int(pages["new_urls"].sum()), len(pages) - 1)


def _compare_fetches(
    found: _Findings, fetches: pd.DataFrame, pages: pd.DataFrame, site: PracticeSite
) -> None:
    found.expect("seq of fetches", list(fetches["seq"]), list(range(1, len(fetches) + 1)))
    of_pages = fetches[~fetches["url"].str.endswith("/robots.txt")]
    # A request that was cut short by an interrupt is a row; one that died with its process is none.
    of_pages = of_pages[of_pages["error"] != "interrupted"]
    found.expect_set("fetches", list(of_pages["url"]), set(pages["url"]))
    by_seq = dict(zip(fetches["seq"], fetches["url"], strict=True))
    strangers = [
        url for seq, url in zip(pages["seq"], pages["url"], strict=True) if by_seq.get(seq) != url
    ]
    found.expect("pages whose fetch is another", strangers, [])
    found.expect("new_urls of fetches", int(of_pages["new_urls"].sum()), len(pages) - 1)
    found.expect("known_urls grows", bool(of_pages["known_urls"].is_monotonic_increasing), True)
    asked = {request.url for request in site.requests}
    found.expect("fetches that the site never saw", set(fetches["url"]) - asked, set())


def _compare_records(found: _Findings, records: pd.DataFrame, site: PracticeSite) -> None:
    columns = ["id", "url", "name", "price", "stock", "category"]
    true = set(site.truth.products[columns].itertuples(index=False, name=None))
    rows = list(records[columns].itertuples(index=False, name=None)) if len(records) else []
    found.expect_set("records", rows, true)
    for key in ("record_id", "version_key", "id"):
        found.expect(f"{key} of records", bool(records[key].is_unique), True)


def _compare_bodies(found: _Findings, crawl: ck.Crawl, pages: pd.DataFrame) -> None:
    with closing(sqlite3.connect(crawl.folder / "crawl.sqlite")) as connection:
        kept = connection.execute(
            "SELECT urls.url, responses.body_hash, responses.seq FROM responses "
            "JOIN urls ON urls.id = responses.url_id JOIN bodies ON bodies.hash = body_hash"
        ).fetchall()
        found.expect(
            "integrity", connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)]
        )
        for table in ("leases", "buffer"):
            count = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            found.expect(f"rows in {table}", count, 0)
    rows = pages[["url", "body_hash", "seq"]].itertuples(index=False, name=None)
    found.expect_set("bodies", kept, set(rows))
    for url, title in list(zip(pages["url"], pages["title"], strict=True))[::50]:
        found.expect(f"title in the body of {url}", str(title).encode() in crawl.body(url), True)


def _compare_files(found: _Findings, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "crawl.sqlite")) as connection:
        listed = {row[0] for row in connection.execute("SELECT name FROM segments")}
    snapshots = {f"{table}/part-000000.parquet" for table in ("urls", "records")}
    found.expect("files of the tables", files_of(folder) - snapshots, listed)
    tables = [name.split("/")[0] for name in listed]
    found.expect("tables in one piece", len(tables), len(set(tables)))


# -- ten kills -----------------------------------------------------------------------------


class Variant(NamedTuple):
    """A form of the experiment: latency for each worker, and when kills come (all seconds)."""

    name: str
    latency: float
    earliest: float
    latest: float


SLOW = Variant("behind latency", 0.015, 0.2, 1.0)
FAST = Variant("at full speed", 0.0, 0.05, 0.3)


@dataclass
class KillRun:
    """What came of ten kills and a run to the end.

    ``left`` holds the URLs that were still to be had after each kill; a life that had ended by
    itself before its kill has no entry.
    """

    variant: Variant
    workers: int
    seed: int
    left: list[int] = field(default_factory=list)
    requests: int = 0
    repeats: int = 0
    robots: int = 0
    most_asked: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        """How many kills hit a living process."""
        return len(self.left)

    @property
    def hits(self) -> int:
        """How many kills hit a crawl with pages left."""
        return sum(count > 0 for count in self.left)

    @property
    def allowed(self) -> int:
        """How many requests the kills may have cost at most."""
        return self.kills * self.workers

    def in_words(self) -> str:
        """Return the run's figures on one line."""
        return (
            f"{self.kills} kills {self.variant.name}, {self.workers} workers, seed {self.seed}: "
            f"{self.hits} hit a crawl with pages left, {self.requests} requests for 525 pages, "
            f"{self.repeats} repeated (at most {self.allowed} may be), "
            f"{'exact' if not self.wrong else '; '.join(self.wrong)}"
        )


def kill_moments(variant: Variant, seed: int, kills: int = KILLS) -> list[float]:
    """Draw the moments of the kills: one from each of ten equal parts, in any order.

    So every run has early and late kills, and their sum is nearly the same in each.
    """
    draw = random.Random(f"{variant.name} {seed}")
    width = (variant.latest - variant.earliest) / kills
    parts = list(range(kills))
    draw.shuffle(parts)
    return [variant.earliest + width * (part + draw.random()) for part in parts]


def ten_kills(folder: Path, variant: Variant, workers: int, seed: int, **options: Any) -> KillRun:
    """Crawl the shop, kill it ten times, crawl it to the end, and compare with the truth."""
    run = KillRun(variant, workers, seed)
    began = time.monotonic()
    with ck.lab.serve(("shop",), process=True, latency=variant.latency * workers) as site:
        for moment in kill_moments(variant, seed):
            with Life(site, folder, workers=workers, **options) as life:
                if not life.kill_after(moment):
                    break
                run.left.append(pages_left(folder))
        with Life(site, folder, workers=workers, **options) as life:
            code, answer = life.end()
        if code != 0:
            run.wrong.append(f"the last run ended with {answer}")
        run.wrong += differences(folder, site)
        log = site.requests
        run.requests = sum(request.path != "/robots.txt" for request in log)
        run.robots = len(log) - run.requests
        run.repeats = site.repeats()
        run.most_asked = max(_counts(log).values())
    run.seconds = time.monotonic() - began
    return run


def _counts(log: Sequence[Request]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for request in log:
        counts[request.url] = counts.get(request.url, 0) + 1
    return counts
