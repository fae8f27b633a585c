"""The frontier against a model: states, leases, limits, order, recovery."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from crawlkit.crawling.database import open_for_writing, transaction
from crawlkit.crawling.frontier import DONE, FAILED, STATES, Found, Frontier, Lease
from crawlkit.crawling.settings import Limits, Scope, Settings
from crawlkit.order.base import Ordering
from crawlkit.order.breadth_first import BreadthFirst
from crawlkit.order.depth_first import DepthFirst
from crawlkit.web.urls import Address

ANY = Scope("any", frozenset())


def address(number: int, host: str = "a.example") -> Address:
    url = f"http://{host}/{number}"
    return Address(url, url, host)


class Clock:
    """Monotonic seconds that move only when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@contextlib.contextmanager
def frontier_of(folder: Path, clock: Clock | None = None, scope: Scope = ANY, **options):
    connection = open_for_writing(folder)
    try:
        made = Settings(**{"order": BreadthFirst(), "delay": 0.0, **options})
        frontier = Frontier(connection, made, scope, clock=clock or Clock())
        with transaction(connection):
            frontier.recover()
        yield frontier, connection
    finally:
        connection.close()


def lease_one(frontier: Frontier) -> Lease | None:
    found = frontier.candidate()
    return None if found is None else frontier.lease(found[0], seconds=60)


def finish(frontier: Frontier, lease: Lease, state: int = DONE) -> None:
    frontier.hosts.end_request(lease.host, started=None)
    assert frontier.owns(lease)
    frontier.close_lease(lease, state, None)


def enter(frontier: Frontier, numbers, *, host: str = "a.example", depth: int = 0, **options):
    return [frontier.enter(Found(address(n, host), depth, **options)) for n in numbers]


def drain(frontier: Frontier) -> list[str]:
    order = []
    while (lease := lease_one(frontier)) is not None:
        order.append(lease.url)
        finish(frontier, lease)
    return order


def test_a_known_url_is_entered_once_whatever_its_spelling(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        first = Address("http://a.example/x?b=1&a=2", "http://a.example/x?a=2&b=1", "a.example")
        other = Address("http://a.example/x?a=2&b=1", "http://a.example/x?a=2&b=1", "a.example")
        known, new = frontier.enter(Found(first, 0))
        again, second_time = frontier.enter(Found(other, 0))
        assert new
        assert not second_time
        assert again == known
        assert again.url == first.url  # the first spelling found is the one asked for


def test_two_keys_with_one_hash_stay_two_pages(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        for number in (1, 2):
            _, new = frontier.enter(Found(address(number), 0), 42)
            assert new
        assert frontier.known == 2
        frontier.seen.forget_all()
        assert frontier.seen.find(address(2), 42).url == address(2).url


def test_breadth_first_goes_level_by_level_and_by_discovery(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        enter(frontier, [5], depth=2)
        enter(frontier, [3, 1], depth=1)
        enter(frontier, [9], depth=0)
        assert drain(frontier) == [address(n).url for n in (9, 3, 1, 5)]


def test_depth_first_takes_the_first_link_of_the_last_page(tmp_path):
    with frontier_of(tmp_path, order=DepthFirst()) as (frontier, connection):
        with transaction(connection):
            enter(frontier, [0, 100], source="seed")
            order = []
            links = {0: [1, 2], 1: [3, 4], 3: []}
            for _ in range(7):
                lease = lease_one(frontier)
                if lease is None:
                    break
                number = int(lease.url.rsplit("/", 1)[1])
                order.append(number)
                enter(frontier, links.get(number, ()), depth=lease.depth + 1)
                finish(frontier, lease)
                frontier.downloaded(page_of(lease), [])
            assert order == [0, 1, 3, 4, 2, 100]


def page_of(lease: Lease):
    from crawlkit.order.base import FoundPage

    return FoundPage(lease.id, lease.url, lease.host.name, lease.depth, lease.source)


def test_equal_scores_go_to_the_host_that_has_waited_longest(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        for host in ("a.example", "b.example", "c.example"):
            enter(frontier, range(3), host=host)
        hosts = [url.split("/")[2] for url in drain(frontier)]
        assert hosts == ["a.example", "b.example", "c.example"] * 3


def test_scores_differ_only_at_twelve_significant_digits(tmp_path):
    class Noisy(Ordering):
        name = "noisy"

        def start(self, page):
            return 0.1 + page.id * 1e-15

    with frontier_of(tmp_path, order=Noisy()) as (frontier, connection), transaction(connection):
        enter(frontier, range(5))
        assert drain(frontier) == [address(n).url for n in range(5)]


def test_new_scores_change_the_order_of_what_waits(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        enter(frontier, range(4))
        frontier.write_scores({2: 5.0, 3: 7.0, 99: 1.0})
        assert drain(frontier) == [address(n).url for n in (3, 2, 0, 1)]


def test_one_request_in_flight_per_host_and_the_delay_from_start_to_start(tmp_path):
    clock = Clock()
    with frontier_of(tmp_path, clock, delay=2.0) as (frontier, connection), transaction(connection):
        enter(frontier, range(3))
        first = lease_one(frontier)
        assert lease_one(frontier) is None
        clock.now += 5.0
        assert lease_one(frontier) is None  # still in flight
        finish(frontier, first)
        second = lease_one(frontier)
        assert second is not None
        frontier.hosts.end_request(second.host, started=clock.now + 0.5)  # it really began later
        assert frontier.owns(second)
        frontier.close_lease(second, DONE, None)
        clock.now += 2.4
        assert not frontier.has_ready()
        assert frontier.next_event_in() == pytest.approx(0.1)
        clock.now += 0.11
        assert frontier.has_ready()


def test_without_a_delay_no_host_holds_more_than_half_while_another_is_ready(tmp_path):
    with frontier_of(tmp_path, workers=4) as (frontier, connection), transaction(connection):
        enter(frontier, range(10))
        first = [lease_one(frontier) for _ in range(4)]
        assert all(first)  # alone, a host may have all workers
        for lease in first[:2]:
            finish(frontier, lease)
        enter(frontier, range(10), host="b.example", depth=5)  # a worse score, and yet its turn
        assert lease_one(frontier).host.name == "b.example"
        assert lease_one(frontier).host.name == "b.example"


def test_after_opening_a_host_asked_before_waits_one_delay(tmp_path):
    with frontier_of(tmp_path, delay=3.0) as (frontier, connection), transaction(connection):
        enter(frontier, range(3))
        enter(frontier, range(3), host="b.example")
        finish(frontier, lease_one(frontier))
    clock = Clock()
    with frontier_of(tmp_path, clock, delay=3.0) as (frontier, connection):
        with transaction(connection):
            assert lease_one(frontier).host.name == "b.example"
            assert lease_one(frontier) is None
            clock.now += 3.0
            assert lease_one(frontier).host.name == "a.example"


def test_retry_after_survives_the_process_and_is_clamped(tmp_path, monkeypatch):
    import crawlkit.crawling.frontier as module

    monkeypatch.setattr(module.time, "time", lambda: 5_000_000.0)
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        enter(frontier, range(2))
        lease = lease_one(frontier)
        frontier.hosts.pause(lease.host, 600.0)
        finish(frontier, lease)
    monkeypatch.setattr(module.time, "time", lambda: 5_000_000.0 - 3_600)  # set back an hour
    clock = Clock()
    with frontier_of(tmp_path, clock) as (frontier, _):
        assert 600 <= frontier.next_event_in() <= 86_400


def test_max_pages_is_exact_and_frees_nothing_for_pages_in_flight(tmp_path):
    with frontier_of(tmp_path, max_pages=3) as (frontier, connection), transaction(connection):
        enter(frontier, range(10))
        leases = [lease_one(frontier) for _ in range(5)]
        assert [lease is not None for lease in leases] == [True, True, True, False, False]
        finish(frontier, leases[0])
        assert lease_one(frontier) is None


def test_pages_per_host_is_exact_and_leaves_the_rest_pending(tmp_path):
    limits = Limits(pages_per_host=2)
    with frontier_of(tmp_path, limits=limits) as (frontier, connection), transaction(connection):
        enter(frontier, range(5))
        enter(frontier, range(5), host="b.example")
        assert len(drain(frontier)) == 4
        assert frontier.pending == 6


def test_known_urls_counts_what_it_does_not_keep(tmp_path):
    limits = Limits(known_urls=3)
    with frontier_of(tmp_path, limits=limits) as (frontier, connection), transaction(connection):
        kept = [known for known, _ in enter(frontier, range(5))]
        assert [known is not None for known in kept] == [True, True, True, False, False]
        assert frontier.not_kept == 2
        assert frontier.known == 3


@pytest.mark.parametrize(
    ("options", "found", "reason"),
    [
        ({"max_depth": 2}, Found(address(1), 3), "depth"),
        ({}, Found(address(1), 1, follow=False), "not_followed"),
    ],
)
def test_a_refused_url_is_kept_with_its_reason(tmp_path, options, found, reason):
    with frontier_of(tmp_path, **options) as (frontier, connection), transaction(connection):
        frontier.enter(found)
        state = connection.execute("SELECT state, reason FROM urls").fetchone()
        assert (STATES[state[0]], state[1]) == ("excluded", reason)
        assert lease_one(frontier) is None


def test_a_shorter_way_brings_a_url_back_inside_the_depth(tmp_path):
    with frontier_of(tmp_path, max_depth=2) as (frontier, connection), transaction(connection):
        enter(frontier, [1], depth=3)
        assert not frontier.pending
        enter(frontier, [1], depth=2)
        assert drain(frontier) == [address(1).url]


def test_a_lease_that_was_taken_over_cannot_be_completed(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        enter(frontier, [1])
        stale = frontier.lease(frontier.candidate()[0], seconds=-1)
        assert frontier.reclaim_expired() == [stale.url]
        fresh = lease_one(frontier)
        assert fresh.id == stale.id
        assert not frontier.owns(stale)
        assert frontier.owns(fresh)


def test_a_renewed_lease_is_not_reclaimed(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        enter(frontier, [1])
        lease = frontier.lease(frontier.candidate()[0], seconds=-1)
        frontier.leases.renew([lease.token], seconds=60)
        assert frontier.reclaim_expired() == []


def test_a_dead_owners_lease_is_free_at_once_and_goes_first(tmp_path):
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        enter(frontier, range(4))
        finish(frontier, lease_one(frontier))
        assert lease_one(frontier).url == address(1).url
        enter(frontier, [9], depth=-1)  # better than what was leased
    with frontier_of(tmp_path) as (frontier, connection), transaction(connection):
        assert drain(frontier)[0] == address(1).url


def test_a_page_leased_too_often_is_given_up(tmp_path):
    limits = Limits(attempts=3)
    for _ in range(3):
        with frontier_of(tmp_path, limits=limits) as (frontier, connection):
            with transaction(connection):
                enter(frontier, range(2))
                assert lease_one(frontier).url == address(0).url
    with frontier_of(tmp_path, limits=limits) as (frontier, connection), transaction(connection):
        assert drain(frontier) == [address(1).url]
        row = connection.execute("SELECT state, reason FROM urls WHERE id = 0").fetchone()
        assert (STATES[row[0]], row[1]) == ("failed", "attempts")


def test_a_parked_url_comes_back_when_its_time_is_over(tmp_path):
    clock = Clock()
    with frontier_of(tmp_path, clock) as (frontier, connection), transaction(connection):
        enter(frontier, range(2))
        lease = lease_one(frontier)
        frontier.hosts.end_request(lease.host, started=None)
        assert frontier.owns(lease)
        frontier.park(lease, 10.0, "timeout")
        assert drain(frontier) == [address(1).url]
        assert frontier.pending == 1
        clock.now += 10.0
        again = lease_one(frontier)
        assert (again.url, again.tries) == (lease.url, 1)


def test_the_ordering_hears_of_a_page_that_is_refused(tmp_path):
    class Listener(BreadthFirst):
        resumes_by = "nothing"  # so it is no copy that hears

        def __init__(self):
            self.heard = []

        def downloaded(self, page, links):
            self.heard.append((page.id, page.url, list(links)))
            return {}

    order = Listener()
    with frontier_of(tmp_path, order=order) as (frontier, connection), transaction(connection):
        enter(frontier, range(2))
        host, _, page_id = frontier.candidate()
        frontier.exclude_page(page_id, host, "robots")
        assert order.heard == [(0, address(0).url, [])]
        assert drain(frontier) == [address(1).url]


# -- the state machine ---------------------------------------------------------------------


@dataclass
class ModelUrl:
    number: int
    host: str
    depth: int
    state: str = "pending"
    urgent: bool = False
    leases: int = 0


@dataclass
class Model:
    urls: dict[str, ModelUrl] = field(default_factory=dict)

    def expected(self, max_pages: int) -> set[str]:
        """Return the URLs of which one must be leased next: best urgency, then best score."""
        asked = sum(url.leases > 0 for url in self.urls.values())
        waiting = [(k, u) for k, u in self.urls.items() if u.state == "pending"]
        if asked >= max_pages:
            waiting = [(k, u) for k, u in waiting if u.urgent]
        if not waiting:
            return set()
        best = min((not u.urgent, u.depth) for _, u in waiting)
        tied = [(k, u) for k, u in waiting if (not u.urgent, u.depth) == best]
        # Inside a host by discovery order; between hosts by who has waited longest.
        firsts: dict[str, str] = {}
        for key, url in sorted(tied, key=lambda item: item[1].number):
            firsts.setdefault(url.host, key)
        return set(firsts.values())


class FrontierMachine(RuleBasedStateMachine):
    MAX_PAGES = 12

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.leases: list[Lease] = []
        self.counter = 0
        self.open()

    def open(self) -> None:
        self.connection = open_for_writing(Path(self.folder.name))
        made = Settings(order=BreadthFirst(), delay=0.0, max_pages=self.MAX_PAGES, workers=200)
        self.frontier = Frontier(self.connection, made, ANY, clock=Clock())
        with transaction(self.connection):
            self.frontier.recover()

    @rule(
        numbers=st.lists(st.integers(0, 25), max_size=6),
        host=st.sampled_from(["a.example", "b.example"]),
        depth=st.integers(0, 3),
    )
    def add(self, numbers: list[int], host: str, depth: int) -> None:
        with transaction(self.connection):
            for number in numbers:
                place = address(number, host)
                _, new = self.frontier.enter(Found(place, depth))
                assert new == (place.url not in self.model.urls)
                if new:
                    self.model.urls[place.url] = ModelUrl(self.counter, host, depth)
                    self.counter += 1

    @rule()
    def lease(self) -> None:
        expected = self.model.expected(self.MAX_PAGES)
        with transaction(self.connection):
            lease = lease_one(self.frontier)
        if lease is None:
            assert not expected
            return
        assert lease.url in expected
        url = self.model.urls[lease.url]
        url.state, url.urgent, url.leases = "leased", False, url.leases + 1
        self.leases.append(lease)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), outcome=st.sampled_from(["done", "failed", "returned"]))
    def complete(self, data: st.DataObject, outcome: str) -> None:
        lease = self.leases.pop(data.draw(st.integers(0, len(self.leases) - 1)))
        with transaction(self.connection):
            self.frontier.hosts.end_request(lease.host, started=None)
            assert self.frontier.owns(lease)
            if outcome == "returned":
                self.frontier.give_back(lease)
            else:
                self.frontier.close_lease(lease, DONE if outcome == "done" else FAILED, None)
            assert not self.frontier.owns(lease)
        url = self.model.urls[lease.url]
        url.state = "pending" if outcome == "returned" else outcome
        url.urgent = outcome == "returned"

    @rule()
    def die_and_reopen(self) -> None:
        self.connection.close()
        self.leases.clear()
        for url in self.model.urls.values():
            if url.state == "leased":
                url.state, url.urgent = "pending", True
        self.open()

    @rule()
    def lose_a_transaction(self) -> None:
        class Lost(Exception):
            pass

        with contextlib.suppress(Lost), transaction(self.connection):
            self.frontier.enter(Found(address(999), 0))
            raise Lost
        self.die_and_reopen()  # what memory believed is gone with the process

    @invariant()
    def counts_agree(self) -> None:
        if not hasattr(self, "frontier"):
            return
        states = [url.state for url in self.model.urls.values()]
        assert self.frontier.known == len(states)
        assert self.frontier.pending == states.count("pending")
        assert self.frontier.leased == states.count("leased")
        assert self.frontier.pages == sum(u.leases > 0 for u in self.model.urls.values())
        rows = dict(self.connection.execute("SELECT url, state FROM urls"))
        assert {url: STATES[state] for url, state in rows.items()} == {
            key: url.state for key, url in self.model.urls.items()
        }

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()
            self.folder.cleanup()


TestFrontierMachine = FrontierMachine.TestCase
TestFrontierMachine.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
