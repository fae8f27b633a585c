"""The trap zoo: one section for each kind of trap, each with real pages that are none.

Every trap is served alone or beside finite sections, and looks a little different from seed to
seed. ``site.truth.is_trap(url)`` tells the two apart, also for URLs that the truth does not list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlkit.lab.zoo_addresses import Copies, Filters, Languages, Sessions, Views
from crawlkit.lab.zoo_pages import Anything, Events, Hidden, Listing, Loop, Searches

if TYPE_CHECKING:
    from crawlkit.lab.endless import Trap

__all__ = ["KINDS", "TRAPS"]

TRAPS: tuple[type[Trap], ...] = (
    Events,
    Filters,
    Views,
    Sessions,
    Loop,
    Listing,
    Hidden,
    Anything,
    Copies,
    Languages,
    Searches,
)
"""The sections of the zoo."""

KINDS: dict[str, str] = {
    "events": "calendar",
    "filters": "facets",
    "views": "sort_or_view",
    "sessions": "session_id",
    "loop": "path_loop",
    "listing": "pagination",
    "hidden": "hidden_links",
    "anything": "soft_404",
    "copies": "duplicate_region",
    "languages": "locale_copies",
    "searches": "search_results",
}
"""Name of the section -> the kind of trap that it is."""
