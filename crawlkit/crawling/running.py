"""One run of a crawl: the folder is owned, the engine runs, the tables are left in order."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from crawlkit.crawling.database import transaction
from crawlkit.crawling.engine import Engine
from crawlkit.crawling.finish import finish_tables
from crawlkit.crawling.interrupts import uninterrupted
from crawlkit.crawling.meta import save_meta
from crawlkit.crawling.privacy import private_allowance
from crawlkit.crawling.progress import progress_bar
from crawlkit.crawling.session import open_session

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from crawlkit.crawling.results import Extractor
    from crawlkit.crawling.session import Seed, Session
    from crawlkit.crawling.settings import Settings

    Progress = bool | Callable[[Mapping[str, Any]], None]
    Pattern = str | re.Pattern[str]
    Marker = str | re.Pattern[str]

__all__ = ["run_crawl"]


def run_crawl(
    folder: Path,
    settings: Settings,
    seeds: Sequence[Seed],
    *,
    extract: Extractor | None,
    progress: Progress,
    on_engine: Callable[[Engine], None] | None = None,
) -> str:
    """Own the folder, crawl until an end, and leave its tables in order; return the reason."""
    with contextlib.ExitStack() as hold:
        session = hold.enter_context(open_session(folder, settings, seeds, to_crawl=True))
        seed_hosts = _seed_hosts(session)
        engine = Engine(
            folder,
            session.connection,
            session.frontier,
            settings,
            session.counters,
            extractor=extract,
            allow_private=private_allowance(seed_hosts),
            auth_hosts=seed_hosts,
        )
        if on_engine is not None:
            on_engine(engine)
        if session.stop is not None:
            engine.stop(session.stop)
        before = session.counters.fetches
        began = time.monotonic()
        try:
            with progress_bar(progress, settings, engine) as tick:
                reason = engine.run(tick)
        except KeyboardInterrupt:  # in the bar, or a second one before the engine had ended
            uninterrupted(engine.end, lambda: None)
            reason = engine.stop_reason or "interrupted"
        hurry = threading.Event()

        def finish() -> None:
            with transaction(session.connection):
                save_meta(
                    session.connection,
                    "last_run",
                    {
                        "requests": session.counters.fetches - before,
                        "seconds": round(time.monotonic() - began, 3),
                    },
                )
            finish_tables(session, reason, hurry)
            hold.close()

        uninterrupted(finish, hurry.set)
    return reason


def _seed_hosts(session: Session) -> list[str]:
    return [
        str(row[0])
        for row in session.connection.execute(
            "SELECT DISTINCT hosts.name FROM urls JOIN hosts ON hosts.id = urls.host "
            "WHERE urls.source NOT IN ('link', 'redirect', 'warc')"
        )
    ]
