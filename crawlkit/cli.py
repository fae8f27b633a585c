"""The command line: ``crawlkit demo`` and ``crawlkit crawl``.

Exit codes: 0 the crawl ended (finished or at a limit), 1 it could not run, 2 wrong arguments,
130 interrupted.
"""

from __future__ import annotations

import argparse
import json
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
    crawl.add_argument("--json", action="store_true", help="print the summary as JSON, no bar")
    crawl.add_argument("--quiet", action="store_true", help="no bar")


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
        return _demo(options) if options.command == "demo" else _crawl(options)
    except CrawlkitError as error:
        print(f"crawlkit: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadSetting) else 1
    except KeyboardInterrupt:
        return 130


def _demo(options: argparse.Namespace) -> int:
    from crawlkit.lab.demo import run_demo

    run_demo(options.folder, quiet=options.json)
    if options.json:
        _print_json(options.folder)
    return 0


def _crawl(options: argparse.Namespace) -> int:
    from crawlkit.crawling.api import crawl
    from crawlkit.crawling.memory import share_one_arena
    from crawlkit.crawling.settings import Limits
    from crawlkit.web.fetch import Http

    share_one_arena()
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
        progress=not (options.json or options.quiet),
    )
    summary = result.summary()
    if options.json:
        print(json.dumps(summary))
    else:
        print(_in_words(summary))
    return 130 if summary["stop_reason"] == "interrupted" else 0


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
    return "\n".join([*lines, *summary["hints"]])
