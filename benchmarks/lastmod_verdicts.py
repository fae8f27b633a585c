"""Counts how often the audit of lastmod is right about the nine living sites.

Each case is audited on many seeds: a first audit, then the clock is moved by two weeks, then a
second one with the same history. The pages and sitemaps are the practice site's own answers, read
by the audit's own readers; ``--http`` adds some seeds over real sockets. Prints how often each
verdict came out, and PASS or FAIL: at most one seed in 50 wrong, none wrong towards trust.

    python benchmarks/lastmod_verdicts.py
    python benchmarks/lastmod_verdicts.py --seeds 5 --case truthful --http 2
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter

import pandas as pd

from crawlkit import lab
from crawlkit.audit.lastmod import LastmodAudit, audit_lastmod
from crawlkit.audit.lastmod_stamps import times_of
from crawlkit.audit.page_visits import Visit, http_time, read_visit
from crawlkit.lab.site import Site
from crawlkit.web.w3c_columns import parse_w3c_column
from crawlkit.web.w3c_dates import GRANULARITIES

BASE = "http://127.0.0.1:1/"
SAMPLE = 80
DAYS = 14
ENTRY = re.compile(
    r"<url><loc>(.*?)</loc>(?:<lastmod>(.*?)</lastmod>)?"
    r"(?:<news:news>.*?<news:publication_date>(.*?)</news:publication_date>.*?</news:news>)?</url>"
)


class InProcess:
    """Asks the practice site without a socket."""

    def __init__(self, living: lab.Living, seed: int) -> None:
        self.site = Site([living], seed, [BASE])
        self.names = ["kept.xml", "stamped.xml"] if living.case == "half_true" else ["sitemap.xml"]

    def ask(self, url: str) -> tuple[bytes, dict[str, str]]:
        """Return body and headers of an answer."""
        answer = self.site.answer(0, "/" + url.removeprefix(BASE))
        headers = {name: value for name, value in answer.headers if value}
        return answer.body, headers | {"Content-Type": answer.content_type or ""}

    def visit(self, url: str) -> Visit:
        """Return what a page says."""
        body, headers = self.ask(url)
        return read_visit(url, body, headers, at=time.time())

    def entries(self) -> pd.DataFrame:
        """Return the entries of the sitemaps as they are now."""
        rows, files = [], []
        for name in self.names:
            url = f"{BASE}living/{name}"
            body, headers = self.ask(url)
            rows += [(*found, url) for found in ENTRY.findall(body.decode())]
            files.append(
                {
                    "url": url,
                    "final_url": url,
                    "last_modified": seconds(headers.get("Last-Modified")),
                    "date": seconds(headers.get("Date")),
                }
            )
        dates = parse_w3c_column([row[1] or None for row in rows])
        published = parse_w3c_column([row[2] or None for row in rows])
        frame = pd.DataFrame(
            {
                "loc": pd.Series([row[0] for row in rows], dtype="str"),
                "lastmod": times_of(dates.start),
                "lastmod_granularity": [
                    None if at < 0 else GRANULARITIES[at] for at in dates.granularity
                ],
                "sitemap": pd.Series([row[3] for row in rows], dtype="str"),
                "publication_date": times_of(published.start),
            }
        )
        frame["kind"] = "news" if published.granularity.max() >= 0 else "page"
        frame.attrs["files"] = tuple(files)
        return frame


def seconds(value: str | None) -> float | None:
    return None if value is None else http_time(value)


def two_audits(case: str, seed: int) -> tuple[LastmodAudit, LastmodAudit]:
    """Audit a site, let two weeks pass, audit it again."""
    living = lab.Living(case=case)
    here = InProcess(living, seed)
    with tempfile.TemporaryDirectory() as history:
        audits = []
        for _ in range(2):
            audits.append(
                audit_lastmod(
                    here.entries(),
                    pages=here,
                    sample=SAMPLE,
                    history=history,
                    random_seed=seed,
                    progress=False,
                )
            )
            living.clock.advance(days=DAYS)
    return audits[0], audits[1]


def two_audits_over_http(case: str, seed: int) -> tuple[LastmodAudit, LastmodAudit]:
    """Do the same over real sockets, with the real reader of sitemaps."""
    living = lab.Living(case=case)
    with lab.serve([living], seed=seed) as site, tempfile.TemporaryDirectory() as history:
        audits = []
        for _ in range(2):
            audits.append(
                audit_lastmod(
                    site.url,
                    sample=SAMPLE,
                    history=history,
                    random_seed=seed,
                    delay=0,
                    progress=False,
                )
            )
            living.clock.advance(days=DAYS)
    return audits[0], audits[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--case", action="append", choices=list(lab.LASTMOD_CASES))
    parser.add_argument("--http", type=int, default=2, help="seeds over real sockets")
    options = parser.parse_args()
    failed = False
    began = time.process_time()
    for name in options.case or lab.LASTMOD_CASES:
        case = lab.LASTMOD_CASES[name]
        for how, audits, count in (
            ("in process", two_audits, options.seeds),
            ("over HTTP", two_audits_over_http, options.http),
        ):
            first, later = Counter[str](), Counter[str]()
            wrong = towards_trust = 0
            for seed in range(count):
                one, two = audits(name, seed)
                first[one.verdict] += 1
                later[two.verdict] += 1
                right = (
                    one.verdict in case.first
                    and two.verdict in case.later
                    and bool(set(case.reasons) & set(two.reasons))
                )
                wrong += not right
                towards_trust += one.verdict == "trust" or (
                    two.verdict == "trust" and "trust" not in case.later
                )
                if not right:
                    print(f"  seed {seed}: {one!r} then {two!r}")
                    print("   ", two.reasons)
            good = wrong * 50 <= count and not towards_trust
            failed |= not good
            print(
                f"{'PASS' if good else 'FAIL'} {name:22} {how:10} {count:3} seeds: "
                f"first {dict(first)}, later {dict(later)}, wrong {wrong}"
            )
    print(f"{time.process_time() - began:.0f} s of CPU")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
