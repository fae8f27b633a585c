"""Whatever holds links becomes the same graph: networkx, tables, arrays, files, crawls."""

from __future__ import annotations

import gzip
import types
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suites import graph_path

from crawlkit.errors import BadSetting
from crawlkit.order.graph import graph_from_tables
from crawlkit.order.graph_files import read_graph
from crawlkit.order.graph_hosts import host_numbers
from crawlkit.order.graph_inputs import link_graph, node_numbers
from crawlkit.order.link_graph import LinkGraph
from crawlkit.order.pagerank import pagerank

if TYPE_CHECKING:
    from pathlib import Path

A, B, C, D = (f"http://{host}.example/{host}" for host in "abcd")


def edges(graph: LinkGraph) -> list[tuple[Any, Any]]:
    """Return the links by label, in order."""
    labels = list(range(graph.nodes)) if graph.labels is None else list(graph.labels)
    return [(labels[n], labels[t]) for n in range(graph.nodes) for t in graph.out(n).tolist()]


def table(*rows: tuple[str, str], **columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["source", "target"], dtype="str")
    return frame.assign(**columns)


LINKS = [(A, C), (A, B), (A, C), (B, B), (B, A), (D, A)]
CLEAN = {(A, C), (A, B), (B, A), (D, A)}

names = st.sampled_from([A, B, C, D, "http://e.example/ü", "no address"])


@given(st.lists(st.tuples(names, names), max_size=30))
@settings(max_examples=25, deadline=None)
def test_every_source_gives_the_graph_that_networkx_gives(links: list[tuple[str, str]]) -> None:
    whole = nx.DiGraph(links)
    expected = [(s, t) for s in whole for t in whole.adj[s] if s != t]
    frame = table(*links)
    pair = ([source for source, _ in links], [target for _, target in links])
    for source in (whole, frame, frame.astype("object"), frame.astype("category"), pair):
        graph = link_graph(source)
        assert list(graph.labels or []) == list(whole)
        assert edges(graph) == expected


@given(st.lists(st.tuples(names, names), min_size=1, max_size=30))
@settings(max_examples=20, deadline=None)
def test_a_table_of_links_has_the_pagerank_of_networkx(links: list[tuple[str, str]]) -> None:
    graph = link_graph(table(*links))
    whole = nx.DiGraph([link for link in links if link[0] != link[1]])
    whole.add_nodes_from(graph.labels or [])
    theirs = nx.pagerank(whole, tol=1e-14, max_iter=1000)
    ours = dict(zip(graph.labels or [], pagerank(graph).tolist(), strict=True))
    assert sum(abs(ours[page] - theirs[page]) for page in whole) < 1e-9


def test_labels_of_any_kind_stay_what_they_are() -> None:
    graph = link_graph(nx.DiGraph([(("x", 1), 7), (7, "z")]))
    assert list(graph.labels or []) == [("x", 1), 7, "z"]
    assert link_graph((["a", 3], [3, "b"])).nodes == 3


def test_integers_are_numbers_of_pages() -> None:
    for source in (([0, 4], [4, 1]), pd.DataFrame({"source": [0, 4], "target": [4, 1]})):
        graph = link_graph(source)
        assert (graph.nodes, graph.labels, edges(graph)) == (5, None, [(0, 4), (4, 1)])
    sparse = nx.to_scipy_sparse_array(nx.path_graph(3, create_using=nx.DiGraph))
    assert edges(link_graph(sparse)) == [(0, 1), (1, 2)]


def test_a_link_graph_stays_as_it_is() -> None:
    graph = LinkGraph.from_edges([0], [1], labels=[A, B])
    assert link_graph(graph) is graph
    assert link_graph(graph, hosts="host").host_names == ["a.example", "b.example"]


# -- tables --------------------------------------------------------------------------------


def test_position_is_the_order_of_a_pages_links() -> None:
    mixed = table((A, B), (C, A), (A, D), (A, C), position=[2, 0, 0, 1])
    assert edges(link_graph(mixed)) == [(A, D), (A, C), (A, B), (C, A)]


def test_statements_are_no_links_and_redirects_are_joined_through() -> None:
    links = table(
        (A, B), (A, "old"), ("old", "older"), ("older", C), (C, D), (C, A),
        kind=["canonical", "anchor", "redirect", "redirect", "alternate", "area"],
    )  # fmt: skip
    graph = link_graph(links)
    assert edges(graph) == [(A, C), (C, A)]
    assert list(graph.labels or []) == [A, C]


hops = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), st.sampled_from("abcdef"),
        st.sampled_from(["anchor", "redirect", "canonical", "frame"]),
    ),
    max_size=20,
)  # fmt: skip


@given(hops)
@settings(max_examples=40, deadline=None)
def test_redirects_lead_where_the_graph_of_a_crawl_says(rows: list[tuple[str, str, str]]) -> None:
    redirecting = {source: target for source, target, kind in rows if kind == "redirect"}
    rows = [row for row in rows if row[2] == "redirect" or row[0] not in redirecting]
    rows = [row for row in rows if row[2] != "redirect" or redirecting[row[0]] == row[1]]
    links = pd.DataFrame(rows, columns=["source", "target", "kind"], dtype="str")
    pages = pd.DataFrame({"url": []}, dtype="str")
    theirs = graph_from_tables(pages, links)
    expected = {(source, target) for source, target in theirs.edges if source != target}
    assert set(edges(link_graph(links))) == expected


def test_a_crawl_has_its_pages_in_order_of_discovery() -> None:
    urls = pd.DataFrame({"url": [A, B, C, D], "host": ["h1", "h1", "h2", "h2"]}, dtype="str")
    links = table((A, C), (A, B), kind=["anchor", "anchor"], position=[1, 0])
    graph = link_graph(types.SimpleNamespace(urls=urls, links=links))
    assert list(graph.labels or []) == [A, B, C, D]
    assert edges(graph) == [(A, B), (A, C)]
    assert (graph.host_names, graph.hosts.tolist()) == (["h1", "h2"], [0, 0, 1, 1])


# -- hosts ---------------------------------------------------------------------------------


def test_hosts_come_from_addresses() -> None:
    urls = [
        "http://Sub.Example.co.uk:80/x", "https://sub.example.co.uk?q", "https://a:b@x.example:81/",
        "relative", "https://sub.example.co.uk#f",
    ]  # fmt: skip
    found = host_numbers(urls, 5)
    assert found is not None
    assert [found[1][number] for number in found[0]] == [
        "sub.example.co.uk", "sub.example.co.uk", "x.example:81", "", "sub.example.co.uk",
    ]  # fmt: skip
    sites = host_numbers(urls, 5, "site")
    assert sites is not None
    assert sites[1] == ["example.co.uk", "x.example", ""]
    assert host_numbers(["plain", "words"], 2) is None


def test_hosts_can_be_given() -> None:
    graph = table(*LINKS)
    for hosts in (["x", "y", "x", "y"], {A: "x", C: "y", B: "x", D: "y"}.get, "xyxy"):
        if hosts == "xyxy":
            with pytest.raises(BadSetting, match="'xyxy' is not known"):
                link_graph(graph, hosts=hosts)
        else:
            assert link_graph(graph, hosts=hosts).hosts.tolist() == [0, 1, 0, 1]
    with pytest.raises(BadSetting, match="2 hosts of 4 pages"):
        link_graph(graph, hosts=["x", "y"])


# -- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("links.tsv", "source\ttarget\n{0}\t{1}\n"),
        ("links.csv", "target,kind,source\n{1},anchor,{0}\n"),
        ("links.csv", "from;to\n{0};{1}\n"),
        ("links.txt", "# from where to where\n% also\n\n{0} {1}\n"),
        ("bare.tsv.gz", "{0}\t{1}\n"),
    ],
)
def test_edge_lists_are_read(tmp_path: Path, name: str, text: str) -> None:
    file, content = tmp_path / name, text.format(A, B + "#part").encode()
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert edges(read_graph(file)) == [(A, B + "#part")]
    assert edges(link_graph(str(file))) == [(A, B + "#part")]


def test_numbers_and_words_in_one_file_are_text(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("1,x\nx,2\n2,NA\n")
    assert edges(read_graph(tmp_path / "links.csv")) == [("1", "x"), ("x", "2"), ("2", "NA")]


def test_graphml_and_arrays_are_read(tmp_path: Path) -> None:
    nx.write_graphml(nx.DiGraph([(A, B), (B, C)]), tmp_path / "links.graphml")
    assert edges(read_graph(tmp_path / "links.graphml")) == [(A, B), (B, C)]
    np.savez(tmp_path / "links.npz", indptr=[0, 2, 2, 2], indices=[2, 1])
    assert edges(read_graph(tmp_path / "links.npz")) == [(0, 2), (0, 1)]


def test_a_table_of_pages_gives_names_and_hosts(tmp_path: Path) -> None:
    (tmp_path / "web.edges.tsv").write_text("source\ttarget\n9\t7\n")
    (tmp_path / "web.nodes.tsv").write_text(
        f"id\turl\thost\n7\t{A}\tone\n8\t{B}\ttwo\n9\t{C}\tone\n"
    )
    graph = read_graph(tmp_path / "web.edges.tsv")
    assert edges(graph) == [(C, A)]
    assert (graph.nodes, graph.host_names) == (3, ["one", "two"])
    other = read_graph(tmp_path / "web.edges.tsv", nodes=tmp_path / "web.nodes.tsv")
    assert edges(other) == [(C, A)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"\xff\xfe\x00a,b"),
        ("a.csv", b"alone\n"),
        ("a.tsv.gz", b"no gzip"),
        ("a.npz", b"PK\x03\x04 broken"),
        ("a.graphml", b"<graphml>"),
        ("a.graphml", b'<!DOCTYPE x [<!ENTITY e "e">]><graphml>&e;</graphml>'),
        ("a.csv", b"a,b\n1,2,3,4\n1,2,3,4,5\n"),
    ],
)
def test_a_broken_file_is_a_bad_setting(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadSetting, match="cannot be read as a graph"):
        read_graph(tmp_path / name)


def test_an_empty_file_is_an_empty_graph(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("")
    assert read_graph(tmp_path / "none.csv").nodes == 0
    with pytest.raises(BadSetting, match=r"nothing\.csv is not there"):
        read_graph(tmp_path / "nothing.csv")
    with pytest.raises(BadSetting, match="open_crawl"):
        read_graph(tmp_path)


def test_the_public_graphs_have_the_counts_of_their_readme() -> None:
    webkb = read_graph(graph_path("webkb-1997.edges.tsv.gz"))
    assert (webkb.nodes, webkb.links, len(webkb.host_names)) == (8189, 15893, 589)
    harvard = read_graph(graph_path("harvard500-2003.edges.tsv.gz"))
    assert (harvard.nodes, harvard.links, len(harvard.host_names)) == (500, 2636 - 73, 147)


# -- what cannot work ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (nx.Graph([(1, 2)]), "undirected"),
        (7, "is no graph"),
        ("", "is a folder"),
        (pd.DataFrame({"source": []}), "no column 'target'"),
        (table((A, B)).assign(target=pd.Series([None], dtype="str")), "1 links have no target"),
        (([1.5], [2.0]), "no integers"),
        (([1], [2, 3]), "1 sources and 2 targets"),
        (([-1], [2]), "negative"),
        (([0], [10**12]), "numbered from 0"),
        ((pd.DataFrame({"id": [1, 1]}), table((A, B))), "twice"),
        ((pd.DataFrame({"url": [A]}), table((A, B))), "not in the table of pages"),
        (np.zeros((2, 3)).tolist(), "no integers"),
    ],
)
def test_what_is_no_graph_is_a_bad_setting(source: Any, problem: str) -> None:
    with pytest.raises(BadSetting, match=problem):
        link_graph(source)


def test_empty_and_linkless_graphs_work() -> None:
    for source in (nx.DiGraph(), table(), ([], []), types.SimpleNamespace(links=table())):
        assert (link_graph(source).nodes, link_graph(source).links) == (0, 0)
    alone = nx.DiGraph([(A, A)])
    assert (link_graph(alone).nodes, link_graph(alone).links) == (1, 0)


def test_pages_are_found_by_label_or_number() -> None:
    graph = link_graph(table(*LINKS))
    assert node_numbers(graph, [D, A], "seeds").tolist() == [3, 0]
    assert node_numbers(graph, np.array([2]), "seeds").tolist() == [2]
    assert node_numbers(graph, pd.Series([B]), "seeds").tolist() == [2]
    for wrong in ("nowhere", 4, -1, True, None, [[A]], 1.5):
        with pytest.raises(BadSetting, match=r"seeds: .* is not among the 4 pages"):
            node_numbers(graph, wrong, "seeds")
