"""The typed errors of crawlkit; every message names the thing, the limit and what to do.

A page that fails is a row with a reason, never an exception. What is raised is a wrong call, a
folder that cannot be used, or a disk that is full.
"""

from __future__ import annotations

__all__ = [
    "BadSetting",
    "BadURL",
    "CrawlkitError",
    "FolderInUse",
    "FolderUnusable",
    "MissingExtra",
    "SettingsChanged",
    "StorageFailed",
]


class CrawlkitError(Exception):
    """Base of every error that crawlkit raises on purpose."""


class BadURL(CrawlkitError, ValueError):
    """A string that cannot be asked for over HTTP.

    Parameters
    ----------
    url
        The string as it was given.
    reason
        A stable code, for example ``"not_http"`` or ``"too_long"``.
    problem
        What is wrong, in words.
    """

    def __init__(self, url: str, reason: str, problem: str = "cannot be crawled") -> None:
        self.url = url
        self.reason = reason
        shown = ascii(url if len(url) <= 120 else url[:117] + "...")
        super().__init__(f"{shown} {problem}: {reason}")


class BadSetting(CrawlkitError, ValueError):
    """An argument that cannot work; raised before anything is written.

    Parameters
    ----------
    name
        The argument's name, as the caller spells it.
    problem
        What is wrong with the value given.
    remedy
        What to pass instead.
    """

    def __init__(self, name: str, problem: str, remedy: str) -> None:
        self.name = name
        super().__init__(f"{name}: {problem}. {remedy}")


class SettingsChanged(CrawlkitError, ValueError):
    """A resumed crawl was given another order, scope or URL rules than the folder was made with."""

    def __init__(self, name: str, saved: object, given: object) -> None:
        self.name = name
        super().__init__(
            f"{name}: this folder was crawled with {saved!r}, and cannot go on with {given!r}. "
            f"Pass the saved value, or start in another folder."
        )


class FolderInUse(CrawlkitError, RuntimeError):
    """Another process owns the crawl folder."""


class FolderUnusable(CrawlkitError, OSError):
    """The folder is no crawl, belongs to a newer crawlkit, or cannot be written."""


class StorageFailed(CrawlkitError, OSError):
    """The disk refused a write; everything committed before is safe."""


class MissingExtra(CrawlkitError, ImportError):
    """An optional library is not installed.

    Parameters
    ----------
    library
        The library that could not be imported.
    extra
        The extra of crawlkit that brings it.
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"{library} is not installed. Run: pip install 'crawlkit[{extra}]'", name=library
        )
