"""Each ordering by itself: what it answers, what it refuses, and how it goes on after a death."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crawlkit as ck
from crawlkit.order.base import FoundPage, Ordering
from crawlkit.order.registry import make_ordering

NAMED = [name for name in ck.ORDERINGS if name != "omniscient"]
DAY = 86_400.0


def page(number: int, **facts: Any) -> FoundPage:
    return FoundPage(number, f"http://a.example/{number}", "a.example", **facts)


def scores_of(changes: Any) -> dict[int, float]:
    if isinstance(changes, tuple):
        return dict(zip(changes[0].tolist(), changes[1].tolist(), strict=True))
    return dict(changes)


# -- names and parameters ------------------------------------------------------------------


def test_every_ordering_has_its_name() -> None:
    assert list(ck.ORDERINGS) == [
        "breadth_first", "depth_first", "random", "priority", "inlinks", "larger_sites_first",
        "partial_pagerank", "opic", "push_pagerank", "omniscient",
    ]  # fmt: skip
    for name, kind in ck.ORDERINGS.items():
        assert kind.name == name
        assert isinstance(make_ordering(name), kind)


def test_an_ordering_can_be_made_again_from_its_parameters() -> None:
    for made in (
        ck.PartialPageRank(17, damping=0.5, provisional=False, tol=1e-9),
        ck.Opic("unit", virtual_root=True, damping=0.9, keep_payments=True),
        ck.PushPageRank(0.25, damping=0.7, links_as_found=True),
        ck.LargerSitesFirst("domain"),
        ck.RandomOrder(3),
    ):
        again = make_ordering(made.name, random_seed=99, parameters=made.parameters())
        assert again is not made
        assert repr(again) == repr(made)


def test_the_seed_of_the_crawl_is_that_of_the_random_order() -> None:
    assert make_ordering("random", 5).parameters() == {"random_seed": 5}
    pages = [page(number) for number in range(50)]
    draws = [[make_ordering("random", seed).start(one) for one in pages] for seed in (5, 5, 6)]
    assert draws[0] == draws[1] != draws[2]
    assert all(0 <= draw < 1 for draw in draws[0])
    assert len(set(draws[0])) == 50


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ck.BadSetting, match=r"no ordering named 'best'.*larger_sites_first"):
        make_ordering("best")
    with pytest.raises(ck.BadSetting, match="is no ordering"):
        make_ordering(7)  # type: ignore[arg-type]
    with pytest.raises(ck.BadSetting, match="cannot be made of"):
        make_ordering("opic", parameters={"k": 3})


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("k", partial(ck.PartialPageRank, 0)),
        ("k", partial(ck.PartialPageRank, 2.5)),  # type: ignore[arg-type]
        ("damping", partial(ck.PartialPageRank, damping=1.0)),
        ("tol", partial(ck.PartialPageRank, tol=0.0)),
        ("initial", partial(ck.Opic, "pages")),  # type: ignore[arg-type]
        ("damping", partial(ck.Opic, damping=0.0)),
        ("eps", partial(ck.PushPageRank, 0.0)),
        ("eps", partial(ck.PushPageRank, math.nan)),
        ("damping", partial(ck.PushPageRank, damping=math.nan)),
        ("by", partial(ck.LargerSitesFirst, "site")),  # type: ignore[arg-type]
        ("random_seed", partial(ck.RandomOrder, -1)),
        ("depth", partial(ck.Priority, depth=math.nan)),
        ("lastmod", partial(ck.Priority, lastmod=math.inf)),
        ("half_life", partial(ck.Priority, half_life=0)),
        ("now", partial(ck.Priority, now=math.nan)),
        ("value", partial(ck.Priority, value=3)),  # type: ignore[arg-type]
        ("patterns", partial(ck.Priority, patterns={"": 1})),
        ("changes", partial(ck.Priority, changes={"http://a.example/": math.nan})),
    ],
)
def test_a_parameter_that_cannot_work_is_named(name: str, make: Any) -> None:
    with pytest.raises(ck.BadSetting, match=f"^{name}"):
        make()


# -- what a subclass leaves out is worked out ----------------------------------------------


def test_how_an_ordering_resumes_is_worked_out() -> None:
    class ByAddress(Ordering):
        def start(self, page: FoundPage) -> float:
            return -len(page.url)

    class Counting(Ordering):
        count = 0

        def start(self, page: FoundPage) -> float:
            self.count += 1
            return self.count

    class Learning(ByAddress):
        def downloaded(self, page: FoundPage, links: Any) -> dict[int, float]:
            return {}

    class Saving(Learning):
        def state(self) -> dict[str, Any]:
            return {}

    class Declared(Counting):
        resumes_by: ClassVar[Any] = "nothing"

    class Hidden(Ordering):
        def start(self, page: FoundPage) -> float:
            return sum(len(self.parameters()) for _ in range(2))

    assert ByAddress.resumes_by == "nothing"
    assert not ByAddress.needs_links
    assert Counting.resumes_by == Hidden.resumes_by == "history"
    assert Learning.resumes_by == "history"
    assert Learning.needs_links
    assert Saving.resumes_by == "state"
    assert Declared.resumes_by == "nothing"
    expected = {
        "breadth_first": "nothing", "depth_first": "state", "random": "nothing",
        "priority": "state", "inlinks": "history", "larger_sites_first": "history",
        "partial_pagerank": "history", "opic": "history", "push_pagerank": "history",
        "omniscient": "nothing",
    }  # fmt: skip
    assert {name: kind.resumes_by for name, kind in ck.ORDERINGS.items()} == expected
    assert not ck.DepthFirst.needs_links


class Drive:
    """Calls an ordering as a crawl does, along a list of events; keeps what it answers."""

    def __init__(self, ordering: Ordering) -> None:
        self.ordering = ordering
        self.answers: list[Any] = []
        self.downloads = 0
        self.due = ordering.rescore_every
        self.snapshot: bytes | None = None

    def run(self, events: list[tuple[str, Any, Any]]) -> None:
        for kind, found, links in events:
            if kind == "start":
                self.answers.append(self.ordering.start(found))
                continue
            self.answers.append(scores_of(self.ordering.downloaded(found, links)))
            self.downloads += 1
            if self.downloads == self.due:
                self.answers.append(scores_of(self.ordering.rescore()))
                self.due = self.downloads + (self.ordering.rescore_every or 0)
                self.snapshot = self.ordering.snapshot()


@st.composite
def histories(draw: st.DrawFn, most: int = 30) -> list[tuple[str, Any, Any]]:
    """Draw what a crawl may tell: seeds, downloads, failures, redirects, pages never started."""
    events: list[tuple[str, Any, Any]] = []
    seeds = draw(st.integers(1, 3))
    waiting = [page(number, source="seed") for number in range(seeds)]
    events += [("start", seed, None) for seed in waiting]
    known, barred = seeds, set()
    for _ in range(draw(st.integers(0, most))):
        if not waiting:
            break
        this = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
        kind = draw(st.sampled_from(["page", "page", "page", "failed", "redirect"]))
        count = {"page": draw(st.integers(0, 5)), "failed": 0, "redirect": 1}[kind]
        links = []
        for _ in range(count):
            target = draw(st.integers(0, known + 1))
            if target >= known:
                target, known = known, known + 1
                if draw(st.integers(0, 9)) == 0:
                    barred.add(target)
                else:
                    source = "redirect" if kind == "redirect" else "link"
                    found = page(target, depth=this.depth + 1, source=source)
                    waiting.append(found)
                    events.append(("start", found, None))
            if target != this.id and target not in links:
                links.append(target)
        events.append(("downloaded", this, links))
    return events


ALL = {
    **{name: (lambda name=name: make_ordering(name, 3)) for name in NAMED},
    "partial k=3": lambda: ck.PartialPageRank(3),
    "partial batch": lambda: ck.PartialPageRank(2, provisional=False),
    "opic unit": lambda: ck.Opic("unit"),
    "opic root": lambda: ck.Opic("unit", virtual_root=True, keep_payments=True),
    "opic seeds root": lambda: ck.Opic(virtual_root=True),
    "push eps": lambda: ck.PushPageRank(0.01),
    "sites": lambda: ck.LargerSitesFirst("domain"),
}


@pytest.mark.parametrize("name", ALL)
@given(histories(), st.data())
@settings(max_examples=12)
def test_a_fresh_object_goes_on_where_the_old_one_was(name: str, events: Any, data: Any) -> None:
    death = data.draw(st.integers(0, len(events)))
    old = Drive(ALL[name]())
    old.run(events[:death])
    new = Drive(ALL[name]())
    if new.ordering.resumes_by == "state":
        state = old.ordering.state()
        assert state is not None
        new.ordering.restore(state)
        new.downloads, new.due = old.downloads, old.due
    elif new.ordering.resumes_by == "history":
        if old.snapshot is not None:
            new.ordering.load_snapshot(old.snapshot)
        new.run(events[:death])
    del old.answers[:], new.answers[:]
    old.run(events[death:])
    new.run(events[death:])
    assert new.answers == old.answers
    assert new.ordering.host_score("a.example") == old.ordering.host_score("a.example")


# -- OPIC ----------------------------------------------------------------------------------


@pytest.mark.parametrize("initial", ["seeds", "unit"])
@pytest.mark.parametrize("virtual_root", [False, True])
@given(histories())
@settings(max_examples=30)
def test_cash_is_neither_made_nor_lost(initial: Any, virtual_root: bool, events: Any) -> None:
    order = ck.Opic(initial, virtual_root=virtual_root)
    known = set()
    for kind, found, links in events:
        if kind == "start":
            order.start(found)
            known.add(found.id)
        else:
            before = order.cash(found.id)
            order.downloaded(found, links)
            if initial == "unit" and not virtual_root:
                assert order.cash(found.id) == 0
            assert order.explain(found.id)["history"] == pytest.approx(before, abs=1e-12)
        total = 1 if initial == "seeds" else len(known)
        assert order.total_cash() == pytest.approx(total, abs=1e-9)
        assert all(order.cash(number) >= 0 for number in range(40))
        assert order.root_cash() >= 0


def test_cash_goes_where_the_rules_say() -> None:
    order = ck.Opic(keep_payments=True)
    seeds = [page(0, source="seed"), page(1, source="seed")]
    assert [order.start(seed) for seed in seeds] == [1.0, 1.0]
    for number in (2, 3):
        assert order.start(page(number)) == 0.0
    assert order.downloaded(seeds[0], [2, 3]) == {2: 0.5, 3: 0.5, 1: 1.0}
    # A page without links pays the root, which is the seeds: the one that waits is told.
    assert order.downloaded(page(2), []) == {1: 1.25}
    assert order.cash(0) == order.cash(3) / 2 == 0.125
    # A redirect hands all to its target.
    assert order.downloaded(page(3), [2]) == {2: 0.5}
    assert order.explain(3) == {"cash": 0.0, "history": 0.25, "payments": {0: 0.25}}
    assert order.total_cash() == 1.0


def test_the_account_of_its_own_pays_out_only_with_a_virtual_root() -> None:
    hoarding, paying = ck.Opic("unit"), ck.Opic("unit", virtual_root=True, damping=0.8)
    for order in (hoarding, paying):
        for number in range(4):
            assert order.start(page(number)) == 1.0
    assert hoarding.downloaded(page(0), [1, 2]) == {1: 1.5, 2: 1.5}
    hoarding.downloaded(page(1), [])
    assert (hoarding.root_cash(), hoarding.cash(3), hoarding.total_cash()) == (1.5, 1.0, 4.0)
    paying.downloaded(page(0), [1, 2])
    assert [paying.cash(number) for number in range(4)] == pytest.approx([0.05, 1.45, 1.45, 1.05])
    # A page that is found later is owed nothing of what was paid before.
    paying.start(page(4))
    assert paying.cash(4) == pytest.approx(1.0)
    assert (paying.root_cash(), paying.total_cash()) == (0.0, pytest.approx(5.0))


# -- the others ----------------------------------------------------------------------------


def test_depth_first_takes_the_last_found_and_its_first_link_on_top() -> None:
    order = ck.DepthFirst()
    home = order.start(page(0, source="seed"))
    first = [order.start(page(number)) for number in (1, 2)]
    order.downloaded(page(0), [1, 2])
    second = order.start(page(3))
    order.downloaded(page(1), [3, 2])
    assert home < first[0] == first[1] < second


def test_larger_sites_first_counts_what_waits() -> None:
    order = ck.LargerSitesFirst()
    found = [FoundPage(number, "", host) for number, host in enumerate("aaabbbb")]
    for one in found:
        order.start(one)
    assert (order.host_score("a"), order.host_score("b"), order.host_score("c")) == (3, 4, 0)
    for one in found[3:5]:
        order.downloaded(one, [])
    order.downloaded(found[3], [])  # told twice, counted once
    assert (order.host_score("a"), order.host_score("b")) == (3, 2)


def test_the_parts_of_a_priority_are_shown() -> None:
    def value(url: str, row: dict[str, Any]) -> float:
        return len(url) / 10 + row["depth"]

    order = ck.Priority(
        depth=-2, patterns={"/docs/": 5, "*.pdf$": -3}, lastmod=4, half_life=10, weight=0.5,
        changes={"http://a.example/docs/x.pdf": 9}, value=value, now=100 * DAY,
    )  # fmt: skip
    found = FoundPage(8, "http://a.example/docs/x.pdf", depth=1, lastmod=90 * DAY)
    expected = {
        "depth": -2.0, "/docs/": 5.0, "*.pdf$": -3.0, "lastmod": 2.0, "changes": 5.0, "value": 1.85,
    }  # fmt: skip
    assert order.start(found) == 9.0
    assert order.explain(8) == pytest.approx({**expected, "priority": 9})
    plain = ck.Priority(now=0.0)
    assert plain.start(FoundPage(1, "http://a.example/", lastmod=50 * DAY)) == 2.0  # the future
    assert plain.start(FoundPage(2, "http://a.example/")) == 0.0


@pytest.mark.parametrize("given_value", [math.nan, None, "much", math.inf])
def test_a_value_that_is_no_number_is_the_functions_fault(given_value: Any) -> None:
    order = ck.Priority(value=lambda url, row: given_value)
    with pytest.raises(ck.BadSetting, match=r"^value: .* for http://a\.example/1"):
        order.start(page(1))


def test_partial_pagerank_computes_at_one_percent_of_the_known_pages() -> None:
    order = ck.PartialPageRank()
    assert order.rescore_every == 50
    order.start(page(0, source="seed"))
    order.downloaded(page(0), list(range(1, 12_001)))
    order.rescore()
    assert order.rescore_every == 120
    assert order.explain(3) == {"rank": pytest.approx(1 / 12_001, rel=0.2), "provisional": False}
    order.start(page(12_001))
    order.downloaded(page(1), [12_001])
    assert order.explain(12_001)["provisional"]


def test_pushing_stops_at_eps() -> None:
    def held(eps: float) -> float:
        order = ck.PushPageRank(eps)
        for number in range(3):
            order.start(page(number))
        order.downloaded(page(0), [1])
        order.downloaded(page(1), [0, 2])
        return float(order.explain(2)["rank"])

    # By hand: page 0 and page 1 pass on 0.85 and 0.425 of what they hold, for ever with eps = 0.
    exact = 1 + 0.425 * (1 + 0.85) / (1 - 0.85 * 0.425)
    assert held(1e-12) == pytest.approx(exact, abs=1e-11)
    assert held(10.0) == pytest.approx(1 + 0.425 * 1.85)


def test_omniscience_is_for_replays() -> None:
    with pytest.raises(ck.BadSetting, match="Use it in replays"):
        ck.Omniscient().start(page(0))
