"""Orderings in a live crawl: each in its order, also after deaths; and what is saved of them."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import orderings_child
import pytest
from crawls import crawl, names, page, serve, star
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit import lab
from crawlkit.crawling.database import open_for_writing, transaction
from crawlkit.crawling.frontier import Found, Frontier
from crawlkit.crawling.hosts import Head, HostQueue, HostQueues
from crawlkit.crawling.settings import Scope, Settings
from crawlkit.web.urls import Address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawlkit.order.base import Ordering

SEED = orderings_child.SEED
CHILD = Path(orderings_child.__file__)
LIVE = [name for name in ck.ORDERINGS if name != "omniscient"]
HOSTS = 3
PAGES = 48
# Deaths at every step of a commit, and with a page in hand; the counts begin anew in each life.
FAULTS = ["fetch.done:1", "commit.written:9", "commit.done:11", "fetch.done:10"]


class Web:
    """A site of three hosts, whose pages link to each other at random: the same each time."""

    def __init__(self) -> None:
        draw = random.Random(11)
        self.links = {
            number: [draw.randrange(PAGES) for _ in range(draw.choice([0, 1, 3, 6, 9]))]
            for number in range(PAGES)
        }
        self.links[0] = [1, 2, 5, 0, 1, 9]
        self.bases: list[str] = []

    def url(self, number: int) -> str:
        return f"{self.bases[number % 7 % HOSTS]}t/{number}"

    def answer(self, ask: lab.Ask) -> lab.Answer:
        number = int(ask.path.rpartition("/")[2])
        return page(*(self.url(target) for target in self.links[number]), title=f"Page {number}")

    @contextlib.contextmanager
    def serve(self) -> Iterator[lab.PracticeSite]:
        pages = {str(number): self.answer for number in range(PAGES)}
        with serve(pages, hosts=HOSTS) as site:
            self.bases = list(site.hosts)
            yield site

    def seeds(self) -> list[str]:
        return [self.url(0), self.url(1), self.url(2)]


def downloads(folder: Path) -> list[str]:
    """The pages of a crawl, in the order in which they were taken in."""
    asked = ck.open_crawl(folder).fetches["url"]
    return [url for url in asked if not url.endswith("/robots.txt")]


def history(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "crawl.sqlite")) as connection:
        count: int = connection.execute("SELECT count(*) FROM ordering_history").fetchone()[0]
    return count


# -- exactly the same order ----------------------------------------------------------------


def test_whole_killed_and_replayed_crawls_take_the_pages_in_the_same_order(
    tmp_path: Path,
) -> None:
    orders = [*LIVE, "own"]
    web = Web()
    with web.serve():
        told = {
            "seeds": web.seeds(),
            "folder": str(tmp_path / "killed"),
            "orders": orders,
            "faults": FAULTS,
        }
        done = subprocess.run(
            [sys.executable, str(CHILD), json.dumps(told)], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()[-4_000:]
        ends = json.loads(done.stdout)
        assert ends == {name: [-signal.SIGKILL] * len(FAULTS) + [0] for name in orders}
        taken = {}
        for name in orders:
            whole = orderings_child.crawl(web.seeds(), tmp_path / "whole" / name, name)
            assert whole.finished
            taken[name] = downloads(whole.folder)
            assert downloads(tmp_path / "killed" / name) == taken[name], name
            replayed = ck.replay(
                whole.links, orderings_child.ordering(name), web.seeds(), random_seed=SEED
            )
            assert replayed["page"].tolist() == taken[name], name
    assert taken.pop("priority") == taken["breadth_first"]  # it goes by depth unless told more
    # No two others agree, so each is tested by an order of its own.
    assert len({tuple(order) for order in taken.values()}) == len(taken)
    assert len({tuple(sorted(order)) for order in taken.values()}) == 1


def test_a_crawl_in_small_steps_takes_the_pages_in_the_same_order(tmp_path: Path) -> None:
    web = Web()
    with web.serve():
        for name in ("opic", "own"):
            whole = orderings_child.crawl(web.seeds(), tmp_path / "whole" / name, name)
            order = orderings_child.ordering(name)
            steps = crawl(web.seeds(), tmp_path / name, order=order, workers=1, max_pages=3)
            for pages in (4, 30):
                steps.resume(max_pages=pages, progress=False)
            if name != "own":  # what was saved is enough to make the ordering again
                steps = ck.open_crawl(steps.folder)
            steps.resume(max_pages=None, progress=False)
            assert downloads(steps.folder) == downloads(whole.folder)


def test_one_object_can_be_passed_again_and_again(tmp_path: Path) -> None:
    web = Web()
    order = orderings_child.LatestLinked()
    with web.serve():
        found = [crawl(web.seeds(), tmp_path / n, order=order, workers=1) for n in ("a", "b")]
    assert downloads(found[0].folder) == downloads(found[1].folder)
    assert order.downloads == 0


def test_an_ordering_that_cannot_be_copied_is_named(tmp_path: Path) -> None:
    class Stuck(orderings_child.LatestLinked):
        def __deepcopy__(self, memo: object) -> Stuck:
            raise TypeError("cannot pickle '_thread.lock' object")

    with serve(star(1)) as site, pytest.raises(ck.BadSetting, match=r"order: .*cannot be copied"):
        crawl(site.url + "t/", tmp_path / "c", order=Stuck())


def test_orderings_that_resume_by_nothing_write_no_history(tmp_path: Path) -> None:
    with serve(star(5)) as site:
        for name in LIVE:
            done = crawl(site.url + "t/", tmp_path / name, order=name)
            needs = ck.ORDERINGS[name].resumes_by == "history"
            assert bool(history(done.folder)) == needs, name
    for name in ("breadth_first", "depth_first", "random", "priority"):
        assert ck.ORDERINGS[name].resumes_by != "history"


# -- settings ------------------------------------------------------------------------------


def test_other_parameters_of_an_ordering_are_another_ordering(tmp_path: Path) -> None:
    opic = ck.ORDERINGS["opic"]
    with serve(star(3)) as site:
        crawl(site.url + "t/", tmp_path / "c", order=opic(initial="unit"), max_pages=2)  # type: ignore[call-arg]
        with pytest.raises(ck.SettingsChanged, match="order"):
            crawl(site.url + "t/", tmp_path / "c", order="opic")
        again = ck.open_crawl(tmp_path / "c")
        assert again.settings.order.parameters()["initial"] == "unit"
        assert again.resume(max_pages=None, progress=False).finished


def test_the_random_ordering_draws_by_the_crawls_seed(tmp_path: Path) -> None:
    with serve(star(12)) as site:
        orders = [
            downloads(
                crawl(
                    site.url + "t/", tmp_path / f"{n}", order="random", workers=1, random_seed=seed
                ).folder
            )
            for n, seed in enumerate((1, 1, 2))
        ]
    assert orders[0] == orders[1] != orders[2]


def test_parameters_are_compared_as_they_are_saved(tmp_path: Path) -> None:
    class Tuples(orderings_child.LatestLinked):
        name = "tuples"
        given: Any = (1, 2)

        def parameters(self) -> dict[str, Any]:
            return {"given": self.given}

    with serve(star(1)) as site:
        for _ in range(2):
            assert crawl(site.url + "t/", tmp_path / "c", order=Tuples()).finished
        bad = Tuples()
        bad.given = object()
        with pytest.raises(ck.BadSetting, match="order: the parameters of 'tuples'"):
            crawl(site.url + "t/", tmp_path / "d", order=bad)
        assert not (tmp_path / "d").exists()


def test_an_ordering_of_replays_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ck.BadSetting, match="order"):
        crawl("http://a.example/", tmp_path / "c", order="omniscient")
    assert not (tmp_path / "c").exists()


# -- what is told again --------------------------------------------------------------------


class Recorder(ck.Ordering):
    """Notes every call; each crawl works on a copy, a life, which begins with nothing."""

    name = "recorder"
    needs_links = True
    lives: ClassVar[list[Recorder]] = []

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.snapshots: list[bytes] = []
        self.rescored = 0

    def __deepcopy__(self, memo: object) -> Recorder:
        self.lives.append(Recorder())
        return self.lives[-1]

    @property
    def rescore_every(self) -> int:  # type: ignore[override]
        return 3 + 2 * self.rescored

    def start(self, page: ck.FoundPage) -> float:
        self.calls.append(("start", page))
        return -page.depth

    def downloaded(self, page: ck.FoundPage, links: Sequence[int]) -> Mapping[int, float]:
        self.calls.append(("downloaded", page, tuple(links)))
        return {}

    def rescore(self) -> Mapping[int, float]:
        self.rescored += 1
        self.calls.append(("rescore",))
        return {}

    def snapshot(self) -> bytes:
        return bytes([self.rescored])

    def load_snapshot(self, data: bytes) -> None:
        assert not self.calls
        self.snapshots.append(data)


def test_a_fresh_ordering_hears_every_earlier_call_in_its_order(tmp_path: Path) -> None:
    pages: dict[str, Any] = {
        "": page("a", "moved", "no", "gone", "cut", "deep", "http://b.example/"),
        "a": page("b", "", "b", "a"),
        "b": page("c", "late"),
        "c": page("d"),
        "d": page("a"),
        "deep": page("deeper"),
        "deeper": page("late"),
        "late": page(),
        "moved": lab.redirect("/t/b"),
        "no": page(),
        "cut": lab.Answer(b"half", fault="reset"),
    }
    Recorder.lives.clear()
    order = Recorder()
    told: dict[str, Any] = {"order": order, "workers": 1, "http": ck.Http(retries=0)}
    robots = "User-agent: *\nDisallow: /t/no\n"
    with serve(pages, robots=robots) as site:
        seed, folder = site.url + "t/", tmp_path / "c"
        crawl(seed, folder, max_depth=1, max_pages=4, **told)
        crawl(seed, folder, max_depth=1, **told)
        done = crawl(seed, folder, max_depth=3, max_pages=8, **told)  # brings back by depth
        assert done.exclude("/t/c") == 1
        done.resume(max_pages=None, progress=False)
        assert done.release("/t/c") == 1
        done.resume(max_pages=None, progress=False)
        done.retry("connection_reset", progress=False)
        crawl([seed, site.url + "t/no", site.url + "t/new"], folder, max_depth=3, **told)
        urls = done.urls
    lives = Recorder.lives
    assert len(lives) >= 8
    for earlier, later in itertools.pairwise(lives):
        assert later.calls[: len(earlier.calls)] == earlier.calls
        assert later.snapshots == ([bytes([earlier.rescored])] if earlier.rescored else [])
    _check_calls(lives[-1].calls, dict(zip(urls["found_seq"], names(urls["url"]), strict=True)))


def _check_calls(calls: list[tuple[Any, ...]], called: dict[int, str]) -> None:
    kinds = [call[0] for call in calls]
    starts = [call[1].id for call in calls if call[0] == "start"]
    first = list(dict.fromkeys(starts))
    # Each page once, but for those that came back: by depth, by release, by retry.
    assert sorted(called[number] for number in first if starts.count(number) > 1) == ["c", "cut"]
    assert "" not in [called[n] for n in first[1:]]  # another host was never started
    outcome: dict[str, list[tuple[int, ...]]] = {}
    for call in calls:
        if call[0] == "downloaded":
            outcome.setdefault(called[call[1].id], []).append(call[2])
    ids = {name: number for number, name in called.items() if name}
    assert outcome["moved"] == [(ids["b"],)]
    assert outcome["gone"] == outcome["no"] == [()]
    assert outcome["cut"] == [(), ()]
    assert outcome["c"] == [(), (ids["d"],)]  # set aside, and then asked for
    # A page without a number of its own among them is a page that was asked for.
    asked = sum(kind == "downloaded" for kind in kinds) - 2  # "no", and "c" once
    points = [index for index, kind in enumerate(kinds) if kind == "rescore"]
    assert points
    assert kinds.count("rescore") == sum(n * (n + 2) <= asked for n in range(1, 9))
    seeds = [call[1] for call in calls if call[0] == "start" and call[1].source == "seed"]
    assert [called[each.id] for each in seeds] == ["", "new"]


def test_it_hears_of_what_is_set_aside_without_being_asked_for(tmp_path: Path) -> None:
    Recorder.lives.clear()
    with frontier_of(tmp_path, Recorder()) as frontier:
        enter(frontier, 6, hosts=2)
        for _ in range(15):  # as often as limits.attempts allows, as by a page that kills
            host = frontier.hosts.by_id(1)
            assert frontier.lease(host, seconds=60).id == 0
            frontier.recover()
        assert frontier.given_up == ["http://h0.example/0"]
        assert frontier.exclude_host(frontier.hosts.by_id(2), "host_unreachable") == 3
        assert frontier.pending == 2
    told = [call[1].id for call in Recorder.lives[0].calls if call[0] == "downloaded"]
    assert told == [0, 1, 3, 5]
    with frontier_of(tmp_path, Recorder()):
        assert Recorder.lives[1].calls == Recorder.lives[0].calls


# -- old folders ---------------------------------------------------------------------------


def make_old(folder: Path) -> None:
    """Take away what folders of earlier releases lack."""
    with closing(sqlite3.connect(folder / "crawl.sqlite")) as connection:
        connection.execute("DROP TABLE ordering_history")
        connection.execute("ALTER TABLE hosts DROP COLUMN served")
        connection.execute("ALTER TABLE urls DROP COLUMN found_in")


def test_a_folder_of_an_earlier_release_can_be_read_and_gone_on_with(tmp_path: Path) -> None:
    with serve(star(5)) as site:
        done = crawl(site.url + "t/", tmp_path / "c", max_pages=2)
        before = done.urls
        make_old(done.folder)
        assert done.urls.equals(before)
        assert done.summary()["pages"] == 2
        assert crawl(site.url + "t/", tmp_path / "c").finished
        assert len(done.pages) == 6


# -- scores --------------------------------------------------------------------------------


@contextlib.contextmanager
def frontier_of(folder: Path, order: Ordering | None = None) -> Iterator[Frontier]:
    connection = open_for_writing(folder)
    try:
        order = order or ck.ORDERINGS["breadth_first"]()
        told = Settings(order=order, delay=0.0, max_pages=None)
        frontier = Frontier(connection, told, Scope("any", frozenset()))
        with transaction(connection):
            yield frontier
    finally:
        connection.close()


def enter(frontier: Frontier, count: int, hosts: int = 1) -> None:
    for number in range(count):
        host = f"h{number % hosts}.example"
        url = f"http://{host}/{number}"
        frontier.enter(Found(Address(url, url, host), 1))


def drain(frontier: Frontier) -> list[int]:
    order = []
    while (found := frontier.candidate()) is not None:
        lease = frontier.lease(found[0], seconds=60)
        frontier.hosts.end_request(lease.host, started=None)
        assert frontier.owns(lease)
        frontier.close_lease(lease, 2, None)
        order.append(lease.id)
    return order


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(st.sampled_from([0.0, -1.0, 1e-300, 0.1 + 0.2, 0.3, 7, 1e9]), max_size=12),
    form=st.sampled_from(["mapping", "numpy", "lists", "arrays"]),
    hosts=st.integers(1, 3),
)
def test_new_scores_of_any_form_decide_what_goes_next(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], form: str, hosts: int
) -> None:
    scores: Any = dict(enumerate(values))
    if form == "numpy":
        scores = {np.int64(number): np.float64(value) for number, value in scores.items()}
    if form in ("lists", "arrays"):
        scores = (list(range(len(values))), values)
    if form == "arrays":
        scores = (np.arange(len(values)), np.array(values, dtype=float))
    with frontier_of(tmp_path_factory.mktemp("f")) as frontier:
        enter(frontier, 14, hosts)
        frontier.write_scores(scores)
        final = {number: float(f"{value:.12g}") for number, value in enumerate(values)}
        taken = drain(frontier)
        found = [final.get(number, -1.0) for number in taken]
        assert found == sorted(found, reverse=True)
        for host in range(hosts):  # inside a host, equal scores go by discovery
            own = [(-final.get(n, -1.0), n) for n in taken if n % hosts == host]
            assert own == sorted(own)


def test_many_new_scores_change_the_heads_of_many_hosts(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    with frontier_of(tmp_path) as frontier:
        enter(frontier, 2_000, hosts=40)
        scores = draw.random(2_000)
        frontier.write_scores((np.arange(2_000), scores))
        assert drain(frontier) == np.argsort(-scores, kind="stable").tolist()


@pytest.mark.parametrize("given_back", [[1, 2], 5, None, ([1], [1.0, 2.0]), ([1],), {1: "high"}])
def test_new_scores_that_are_none_are_named(tmp_path: Path, given_back: Any) -> None:
    with frontier_of(tmp_path) as frontier:
        enter(frontier, 3)
        with pytest.raises(ck.BadSetting, match="order: the ordering gave"):
            frontier.write_scores(given_back)


# -- hosts ---------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_host_of_the_best_score_goes_first_however_scores_move(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 30))
    scores = {f"h{n}": float(n % 4) for n in range(count)}
    queues = HostQueues(workers=1, pages_per_host=None, host_score=scores.__getitem__)
    for number, name in enumerate(scores):
        host = HostQueue(number + 1, name, 0.0, head=Head(0, 0.0, number))
        queues.add(host)
        queues.update(host)
    names = st.sampled_from(list(scores))
    for _ in range(data.draw(st.integers(1, 12))):
        for name in data.draw(st.lists(names, max_size=3)):  # behind the back of the queues
            scores[name] = data.draw(st.sampled_from([-1.0, 0.0, 2.0, 9.0]))
        queues.scores_changed()
        taken = queues.take(0.0)
        assert taken is not None
        assert scores[taken.name] == max(scores.values())
        waited = [each.served for each in queues if scores[each.name] == scores[taken.name]]
        assert taken.served == min(waited)
        queues.serve(taken, 0.0)
        taken.in_flight = 0
        queues.update(taken)


def test_a_host_that_rises_by_what_is_found_elsewhere_goes_first(tmp_path: Path) -> None:
    class LastNamed(ck.Ordering):
        """Wants the host whose name stands in the address of the page found last."""

        name = "last_named"
        wanted = ""

        def start(self, page: ck.FoundPage) -> float:
            self.wanted = page.url.partition("?want=")[2] or self.wanted
            return 0.0

        def host_score(self, host: str) -> float:
            return float(host == self.wanted)

    with frontier_of(tmp_path, LastNamed()) as frontier:
        enter(frontier, 300, hosts=300)
        assert frontier.candidate()[0].name == "h0.example"  # type: ignore[index]
        for wanted in ("h250.example", "h7.example", "h299.example"):
            url = f"http://h1.example/?want={wanted}"
            frontier.enter(Found(Address(url, url, "h1.example"), 1))
            assert frontier.candidate()[0].name == wanted  # type: ignore[index]


def test_the_turns_of_equal_hosts_outlive_the_process(tmp_path: Path) -> None:
    order = copy.deepcopy(ck.ORDERINGS["breadth_first"]())
    taken: list[str] = []
    for _ in range(3):
        with frontier_of(tmp_path, order) as frontier:
            enter(frontier, 12, hosts=3)  # known ones change nothing
            for _ in range(2):
                found = frontier.candidate()
                assert found is not None
                lease = frontier.lease(found[0], seconds=60)
                frontier.hosts.end_request(lease.host, started=None)
                assert frontier.owns(lease)
                frontier.close_lease(lease, 2, None)
                taken.append(lease.host.name)
    assert taken == ["h0.example", "h1.example", "h2.example"] * 2
