"""The command line: ``crawlkit demo``, ``crawl``, ``audit``, ``lastmod`` and ``replay``.

Exit codes: 0 the crawl ended (finished or at a limit), 1 it could not run, 2 wrong arguments,
130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from crawlkit.errors import BadSetting, CrawlkitError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_EPILOG = """examples:
  crawlkit demo
  crawlkit crawl https://example.com/ -o example --max-pages 200
  crawlkit crawl https://example.com/ -o example --json      (again: goes on where it was)
  crawlkit audit example --html audit.html                   (what is wrong with the site?)
  crawlkit lastmod https://example.com/                      (is its lastmod true?)
  crawlkit replay example --runs 20                          (which order had been best?)
"""
_CRAWL_EPILOG = """example:
  crawlkit crawl https://example.com/ -o example --max-pages 200 --exclude '/*?sort='

The same command on the same folder resumes. Exit codes: 0 ended (finished or at a limit), 1 could
not run, 2 wrong arguments, 130 interrupted.
"""
_DEMO_EPILOG = """example:
  crawlkit demo /tmp/crawlkit-demo

Needs no network: a practice site is served on this machine.
"""


_AUDIT_EPILOG = """example:
  crawlkit audit example
  crawlkit audit example --sitemap https://example.com/ --html audit.html
  crawlkit audit example --json | jq .summary

FOLDER is a crawl's folder. Without --sitemap, URLs that the crawl itself took from sitemaps count.
Only --sitemap with a URL needs a network. Exit codes: 0 done, 1 could not run, 2 wrong arguments,
130 interrupted.
"""
_LASTMOD_EPILOG = """example:
  crawlkit lastmod https://example.com/ --history example-lastmod
  crawlkit lastmod https://example.com/ --history example-lastmod --json     (some weeks later)

SITE is a site, a sitemap, or a file. A first audit comes to "provisional" at most; one with the
same history, after pages have changed, may come to "trust". Exit codes: 0 there is a verdict, 1 no
sitemap could be read, 2 wrong arguments, 130 interrupted.
"""
_REPLAY_EPILOG = """example:
  crawlkit replay example --seed https://example.com/ --orders opic,push_pagerank --rest 10
  crawlkit replay links.tsv.gz --runs 20 --json

GRAPH is a crawl's folder, an edge list (two columns, TSV or CSV), GraphML, or an .npz with indptr
and indices; .gz, .bz2 and .xz are read as they are. breadth_first, omniscient and the bound
always run along. Needs no network. Exit codes: 0 done, 1 could not run, 2 wrong arguments, 130
interrupted (the runs that were complete are shown).
"""


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="crawlkit",
        description="Small, polite, resumable crawls into Parquet.",
        epilog=_EPILOG,
        formatter_class=formatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="crawl a practice site on this machine, be killed, resume, show the tables",
        epilog=_DEMO_EPILOG,
        formatter_class=formatter,
    )
    demo.add_argument("folder", nargs="?", default="demo", help="folder for the crawl (demo)")
    demo.add_argument("--json", action="store_true", help="print the summary as JSON only")
    _add_crawl(commands, formatter)
    _add_audit(commands, formatter)
    _add_lastmod(commands, formatter)
    _add_replay(commands, formatter)
    return parser


def _add_crawl(commands: Any, formatter: Any) -> None:
    crawl = commands.add_parser(
        "crawl",
        help="crawl a site into a folder, or go on with the crawl in it",
        epilog=_CRAWL_EPILOG,
        formatter_class=formatter,
    )
    crawl.add_argument("url", nargs="+", help="seed URL; several may be given")
    crawl.add_argument("-o", "--output", required=True, metavar="FOLDER", help="crawl folder")
    crawl.add_argument("--order", default="breadth_first", help="ordering (breadth_first)")
    crawl.add_argument(
        "--max-pages", type=int, default=1_000, help="pages in all; 0 for no limit (1000)"
    )
    crawl.add_argument("--max-depth", type=int, help="links to follow from a seed")
    crawl.add_argument("--scope", default="host", help="host, site, any, or hosts with commas")
    crawl.add_argument("--include", action="append", default=[], metavar="PATTERN")
    crawl.add_argument("--exclude", action="append", default=[], metavar="PATTERN")
    crawl.add_argument("--delay", type=float, default=1.0, help="seconds between requests (1.0)")
    crawl.add_argument("--workers", type=int, default=8, help="requests in flight at most (8)")
    crawl.add_argument("--contact", help="contact address for the User-Agent")
    crawl.add_argument("--no-robots", action="store_true", help="do not obey robots.txt")
    crawl.add_argument("--no-bodies", action="store_true", help="do not keep raw responses")
    crawl.add_argument("--seconds", type=float, help="seconds of crawling, in all")
    crawl.add_argument(
        "--on-trap",
        default="warn",
        metavar="ANSWER",
        help="to a region without end: warn, hold (set it aside) or stop (warn)",
    )
    crawl.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="TEXT",
        help="what every page shows; may be repeated",
    )
    crawl.add_argument("--json", action="store_true", help="print the summary as JSON, no bar")
    crawl.add_argument("--quiet", action="store_true", help="no bar")


def _add_audit(commands: Any, formatter: Any) -> None:
    audit = commands.add_parser(
        "audit",
        help="find what is wrong with a site, its traps and what the crawl cost",
        epilog=_AUDIT_EPILOG,
        formatter_class=formatter,
    )
    audit.add_argument("folder", metavar="FOLDER", help="folder of a crawl")
    audit.add_argument("--sitemap", metavar="SITE", help="URL of a site or sitemap, or a file")
    audit.add_argument("--price-per-gb", type=float, metavar="PRICE", help="to tell the cost")
    audit.add_argument("--rows", type=int, default=5, help="rows shown of each table (5)")
    audit.add_argument("--html", metavar="FILE", help="write a report with pictures, too")
    audit.add_argument("--json", action="store_true", help="print the report as JSON, no bar")
    audit.add_argument("--quiet", action="store_true", help="no bar")


def _add_lastmod(commands: Any, formatter: Any) -> None:
    lastmod = commands.add_parser(
        "lastmod",
        help="find out whether the lastmod of a site's sitemaps is true",
        epilog=_LASTMOD_EPILOG,
        formatter_class=formatter,
    )
    lastmod.add_argument("site", metavar="SITE", help="URL of a site or sitemap, or a file")
    lastmod.add_argument("--sample", type=int, default=50, help="pages to look at, at most (50)")
    lastmod.add_argument("--history", metavar="FOLDER", help="what earlier audits saw; added to")
    lastmod.add_argument(
        "--refetch", type=float, metavar="SECONDS", help="read the sitemaps once more after these"
    )
    lastmod.add_argument("--delay", type=float, default=1.0, help="seconds between requests (1.0)")
    lastmod.add_argument("--random-seed", type=int, default=0, help="seed of the sample (0)")
    lastmod.add_argument("--contact", help="contact address for the User-Agent")
    lastmod.add_argument("--json", action="store_true", help="print the audit as JSON, no bar")
    lastmod.add_argument("--quiet", action="store_true", help="no bar")


def _add_replay(commands: Any, formatter: Any) -> None:
    replay = commands.add_parser(
        "replay",
        help="compare orderings on a known link graph, without a network",
        epilog=_REPLAY_EPILOG,
        formatter_class=formatter,
    )
    replay.add_argument("graph", metavar="GRAPH", help="file with links, or a crawl's folder")
    replay.add_argument(
        "--orders",
        default="depth_first,random,larger_sites_first,opic,partial_pagerank,push_pagerank",
        help="orderings with commas (%(default)s)",
    )
    replay.add_argument(
        "--seed", action="append", metavar="PAGE", help="page to begin with; several may be given"
    )
    replay.add_argument(
        "--runs", type=int, default=1, help="runs; without --seed, each from another page (1)"
    )
    replay.add_argument(
        "--rest", type=int, default=0, help="downloads that a host waits between its own (0)"
    )
    replay.add_argument("--fetchers", type=int, default=1, help="downloads in a tick (1)")
    replay.add_argument("--hosts", choices=("host", "site"), help="what rests: host or site")
    replay.add_argument("--value", default="pagerank", help="pagerank, inlinks or a column")
    replay.add_argument("--max-pages", type=int, help="pages a replay at most")
    replay.add_argument("--nodes", metavar="FILE", help="table of pages: id, url, host")
    replay.add_argument("--random-seed", type=int, default=0, help="seed of the draws (0)")
    replay.add_argument("--plot", metavar="FILE", help="write the curves as a picture")
    replay.add_argument("--json", action="store_true", help="print the table as JSON, no bar")
    replay.add_argument("--quiet", action="store_true", help="no bar")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.version:
        import crawlkit

        print(f"crawlkit {crawlkit.__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    try:
        code = _COMMANDS[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        return _end_of_pipe()
    except CrawlkitError as error:
        print(f"crawlkit: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadSetting) else 1
    except KeyboardInterrupt:
        return 130
    return code


def _end_of_pipe() -> int:
    """Let nothing more be written to a pipe that nobody reads, not at the exit either."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a device
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return 1


def _demo(options: argparse.Namespace) -> int:
    from crawlkit.lab.demo import run_demo

    run_demo(options.folder, quiet=options.json)
    if options.json:
        _print_json(options.folder)
    return 0


def _crawl(options: argparse.Namespace) -> int:
    from crawlkit.crawling.memory import load_arrow_alone, loaded_for_good, share_one_arena

    share_one_arena()
    with loaded_for_good():
        load_arrow_alone()
        from crawlkit.crawling.api import crawl
        from crawlkit.crawling.settings import Limits
        from crawlkit.web.fetch import Http
    scope = options.scope if options.scope in ("host", "site", "any") else options.scope.split(",")
    result = crawl(
        options.url,
        options.output,
        order=options.order,
        max_pages=options.max_pages or None,
        max_depth=options.max_depth,
        scope=scope,
        include=options.include,
        exclude=options.exclude,
        delay=options.delay,
        workers=options.workers,
        obey_robots=not options.no_robots,
        limits=Limits(seconds=options.seconds),
        http=Http(contact=options.contact),
        keep_bodies=not options.no_bodies,
        on_trap=options.on_trap,
        expect=options.expect,
        progress=not (options.json or options.quiet),
    )
    summary = result.summary()
    if options.json:
        print(json.dumps(summary))
        for trap in summary["traps"]:
            print(f"crawlkit: trap: {trap['kind']} {trap['region']}", file=sys.stderr)
    else:
        print(_in_words(summary))
    return 130 if summary["stop_reason"] == "interrupted" else 0


def _audit(options: argparse.Namespace) -> int:
    from pathlib import Path

    from crawlkit.audit.report import make_report
    from crawlkit.crawling.api import open_crawl

    if options.rows < 0:
        raise BadSetting("--rows", f"{options.rows} is no count", "Pass 0 or more.")
    if options.html and not Path(options.html).absolute().parent.is_dir():
        problem = f"there is no folder for {options.html}"
        raise BadSetting("--html", problem, "Pass a file such as audit.html.")
    if options.html and Path(options.html).is_dir():
        problem = f"{options.html} is a folder"
        raise BadSetting("--html", problem, "Pass a file such as audit.html.")
    price = options.price_per_gb
    if price is not None and not 0 <= price < float("inf"):
        raise BadSetting("--price-per-gb", f"{price} is no price_per_gb", "Pass 0 or more.")
    crawl = open_crawl(options.folder)
    bar = not (options.json or options.quiet)
    entries = None
    if options.sitemap is not None:
        from crawlkit.web.sitemaps import read_sitemaps

        entries = read_sitemaps(options.sitemap, progress=bar)
        if not len(entries):
            raise CrawlkitError(f"No entry of a sitemap could be read from {options.sitemap}.")
    report = make_report(
        crawl,
        entries,
        name=str(options.folder),
        price_per_gb=options.price_per_gb,
        progress=bar,
    )
    if options.html:
        report.write_html(options.html)
    print(json.dumps(report.to_dict()) if options.json else report.to_text(rows=options.rows))
    return 0


def _lastmod(options: argparse.Namespace) -> int:
    from crawlkit.audit.lastmod import audit_lastmod
    from crawlkit.web.fetch import Http

    audit = audit_lastmod(
        options.site,
        sample=options.sample,
        history=options.history,
        refetch=options.refetch,
        delay=options.delay,
        random_seed=options.random_seed,
        http=Http(contact=options.contact),
        progress=not (options.json or options.quiet),
    )
    print(json.dumps(audit.to_dict()) if options.json else audit)
    if "interrupted" in audit.reasons:
        return 130
    return 0 if audit.spread["entries"].iloc[0] else 1


def _replay(options: argparse.Namespace) -> int:
    from pathlib import Path

    from crawlkit.order.comparison import compare_orderings
    from crawlkit.reprs import plain_text

    graph: Any
    if Path(options.graph).is_dir():
        from crawlkit.crawling.api import open_crawl

        graph = open_crawl(options.graph)
    else:
        from crawlkit.order.graph_files import read_graph

        graph = read_graph(options.graph, nodes=options.nodes, hosts=options.hosts)
    seeds = options.seed
    if seeds and getattr(graph, "labels", ()) is None:
        seeds = [int(seed) if seed.isdecimal() else seed for seed in seeds]
    compared = compare_orderings(
        graph,
        [name.strip() for name in options.orders.split(",") if name.strip()],
        seeds,
        runs=options.runs,
        hosts=options.hosts,
        rest=options.rest,
        fetchers=options.fetchers,
        value=options.value,
        max_pages=options.max_pages,
        random_seed=options.random_seed,
        progress=not (options.json or options.quiet),
    )
    if options.plot:
        _save_plot(compared, options.plot)
    if options.json:
        table = compared.table.astype(object).where(compared.table.notna(), None)
        print(json.dumps({**compared.facts, "orderings": table.to_dict("records")}))
    else:
        print(plain_text(compared))
        print(compared.table.round(4).to_string(index=False, na_rep="-"))
    return 130 if compared.interrupted else 0


def _save_plot(compared: Any, path: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    compared.plot(ax=figure.add_subplot())
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise BadSetting("--plot", str(error), "Pass a file such as curves.png.") from error


def _print_json(folder: str) -> None:
    from crawlkit.crawling.api import open_crawl

    print(json.dumps(open_crawl(folder).summary()))


def _in_words(summary: dict[str, Any]) -> str:
    urls = summary["urls"]
    lines = [
        f"{summary['stop_reason']}: {summary['pages']:,} pages, {summary['requests']:,} requests, "
        f"{urls['pending']:,} pending, {summary['seconds']:.1f} s",
        f"failed {sum(summary['failed'].values()):,}, "
        f"excluded {sum(summary['excluded'].values()):,} {summary['excluded'] or ''}".rstrip(),
        f"tables and raw responses: {summary['folder']}",
    ]
    if len(summary["left"]) > 1:
        hosts = (f"{host} {count:,}" for host, count in summary["left"].items())
        lines.insert(1, f"pending by host: {', '.join(hosts)}")
    return "\n".join([*lines, *summary["hints"]])


_COMMANDS = {
    "demo": _demo,
    "crawl": _crawl,
    "audit": _audit,
    "lastmod": _lastmod,
    "replay": _replay,
}
