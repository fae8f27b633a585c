"""What one sitemap file says, before dates are read and URLs are judged; and the codes for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "CHANGEFREQS",
    "ENTRY_ISSUES",
    "FILE_ISSUES",
    "FILE_KINDS",
    "FILE_REASONS",
    "LONGEST_TEXT",
    "MOST_ENTRIES",
    "PRIORITIES",
    "Child",
    "NotASitemap",
    "SitemapContent",
    "StopReading",
    "trimmed",
]

#: Kinds of file. A urlset with news entries is of the kind ``news``.
FILE_KINDS = ("index", "urlset", "news", "text", "rss", "atom", "not_a_sitemap")

#: Codes of the column ``issues`` of an entry. Those of the dates are the codes of
#: `crawlkit.web.w3c_dates` after ``lastmod_`` or ``publication_``.
ENTRY_ISSUES: dict[str, str] = {
    "recovered": "The file is broken; this row was read after its bytes were repaired.",
    "truncated": "The file ends inside this entry; what is there is whole.",
    "loc_relative": "The URL is relative; it was resolved against the file's own.",
    "loc_not_http": "The URL is no http or https URL; kept as written.",
    "loc_non_ascii": "The URL has characters that should be percent-encoded.",
    "loc_space": "The URL has white space or control characters inside.",
    "loc_unsafe": "The URL has characters that RFC 3986 does not allow.",
    "loc_padding": "Unusual white space around the URL was dropped.",
    "loc_fragment": "The URL has a fragment.",
    "loc_long": "The URL has 2,048 characters or more.",
    "loc_markup": "There are tags inside the URL; the text was taken.",
    "loc_without_tag": "The entry has its URL as bare text.",
    "loc_repeated": "The entry has several URLs; each became a row.",
    "loc_from_id": "The feed entry has no link; its permanent id was taken.",
    "duplicate": "An earlier row of the same file has this URL.",
    "other_dir": "The URL lies outside the folder of the file.",
    "other_scheme": "The URL has another scheme than the file.",
    "other_host": "The URL lies on another host than the file, which did not ask for it.",
    "over_50000": "The file has more than 50,000 entries; this is one of those beyond.",
    "lastmod_empty": "There is a lastmod, and nothing in it.",
    "lastmod_repeated": "There are several lastmod; the first counts.",
    "lastmod_future": "The lastmod lies more than a day after the file was read.",
    "lastmod_before_1990": "The lastmod is older than the web (1970-01-01 and the like).",
    "lastmod_rfc822": "The lastmod has the form of a mail header, which only RSS uses.",
    "priority_invalid": "The priority is no number from 0.0 to 1.0.",
    "changefreq_invalid": "The changefreq is none of the seven words.",
    "alternate_incomplete": "An alternate lacks its language or URL, or is relative.",
    "alternate_without_rel": "An alternate lacks rel=alternate; it was taken all the same.",
    "alternates_many": "There are more than 1,000 alternates; the first were kept.",
    "news_incomplete": "A news entry lacks its name, language, title or publication date.",
}

#: Codes in ``issues`` of a file that could be read.
FILE_ISSUES: dict[str, str] = {
    "recovered": "The bytes had to be repaired.",
    "leading_space": "White space or a second byte order mark before the first tag.",
    "leading_junk": "Something else before the first tag, such as a notice of PHP.",
    "trailing_junk": "Something after the last tag.",
    "doctype": "There is a DOCTYPE; it was not used.",
    "namespace_missing": "The namespace of the protocol is not declared.",
    "namespace_legacy": "An old namespace of the protocol.",
    "namespace_other": "Another namespace, or a misspelled one.",
    "undeclared_prefix": "A prefix is used that is not declared.",
    "tag_case": "Tags in upper case.",
    "mixed_entries": "URLs and sitemaps in one file.",
    "missing_loc": "Entries without a URL were left out (counted in ``skipped``).",
    "loc_too_long": "Entries with an absurdly long URL were left out (counted in ``skipped``).",
    "bad_line": "Lines that are no URL were left out (counted in ``skipped``).",
    "not_utf8": "The file is not in UTF-8.",
    "bad_bytes": "Some bytes do not fit the encoding.",
    "gzip_layers": "Compressed twice.",
    "gzip_members": "The gzip file has several members.",
    "gzip_trailing": "Bytes after the end of the compressed data were left out.",
    "gzip_truncated": "The compressed data has no end; what there is was read.",
    "gzip_damaged": "The compressed data is damaged; what could be read was read.",
    "gzip_name": "Named .gz, and not compressed.",
    "too_many_urls": "More than 50,000 entries.",
    "too_many_news": "More than 1,000 news entries.",
    "nested_index": "An index that another index lists.",
    "duplicate_child": "An index lists a file twice, or one that was read already.",
    "lists_itself": "An index lists itself.",
    "child_not_http": "An index lists something that is no http or https URL.",
    "child_relative": "An index lists relative URLs; they were resolved.",
    "child_other_host": "An index lists files of other hosts.",
    "child_without_tag": "An index has a URL as bare text.",
    "redirected": "The file was found by a redirect.",
    "redirected_off_site": "The file was found by a redirect to another host.",
    "wrong_type": "Served with a type that no sitemap has.",
}

#: Why a file is not, or not wholly, in the table: ``reason``, and the codes of its own row. The
#: codes of `crawlkit.web.fetch.REASONS` and ``http_404`` and the like belong here too.
FILE_REASONS: dict[str, str] = {
    "empty_file": "There is not one byte, or only white space.",
    "html_page": "It is an HTML page.",
    "soft_404": "It is an HTML page that says that there is no such page.",
    "unknown_root": "It is XML of another kind.",
    "no_urls": "It is a text without a URL.",
    "binary": "It is no text at all.",
    "entities_forbidden": "It declares entities, as attacks do; it was not read any further.",
    "truncated": "It ends too early; what was before is there.",
    "parse_error": "It is broken beyond repair; what was before is there.",
    "token_too_long": "A tag or text of a megabyte; what was before is there.",
    "too_many_entries": "It has more than 200,000 entries; the first of them are there.",
    "too_nested": "Its tags are nested a hundred deep; what was before is there.",
    "too_many_names": "It has a hundred thousand kinds of tags; what was before is there.",
    "file_too_large": "It is larger than 50 MB; what was before is there.",
    "time_limit": "It took more time than a file is given; what was before is there.",
    "already_read": "It leads by a redirect to a file that was read already.",
    "max_files": "The limit of files was reached; there are more.",
    "max_depth": "The limit of depth was reached; there are more.",
    "no_sitemap_found": "The site names no sitemap, and none is at the usual places.",
    "robots_unreachable": "robots.txt cannot be reached, which forbids to look for sitemaps.",
    "interrupted": "The reading was stopped before this file.",
    "unreadable_file": "The operating system does not let it be read.",
}

#: What a changefreq may say; nobody uses it, but it can be wrong.
CHANGEFREQS = frozenset(("always", "hourly", "daily", "weekly", "monthly", "yearly", "never"))
#: How priorities are usually written.
PRIORITIES = frozenset(f"{tenth / 10:.1f}" for tenth in range(11)) | {"0", "1"}

#: Rows of one file that are kept, four times what the protocol allows.
MOST_ENTRIES = 200_000
#: Characters of a URL that are kept; of dates far fewer.
LONGEST_TEXT = 65_536

_PADDING = "\ufeff\u200b\u200c\u200d\u2060\u200e\u200f\0" + "".join(
    chr(number) for number in range(0x3001) if chr(number).isspace()
)


class NotASitemap(Exception):
    """The file is something else; never leaves the reader, where it becomes a row.

    Parameters
    ----------
    reason
        A code of `FILE_REASONS`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StopReading(Exception):
    """A limit was reached; what was read until then counts.

    Parameters
    ----------
    reason
        A code of `FILE_REASONS`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Child(NamedTuple):
    """A file that an index lists: its URL and lastmod as written, without space around them."""

    loc: str
    lastmod: str | None


@dataclass(slots=True)
class SitemapContent:
    """The entries of one file, column by column; what is rare is kept by row number.

    Attributes
    ----------
    kind
        One of `FILE_KINDS`; None until the first tag was seen.
    locs, lastmods
        As written, without space around; equally long.
    published, alternates, kinds, issues
        By row number: publication date, ``(language, URL)`` pairs, kind of entry, codes.
    children
        What an index lists.
    file_issues
        Codes of `FILE_ISSUES`, in the order met.
    reason
        A code of `FILE_REASONS`; None when the file was read to its end.
    skipped
        Entries that were left out because they name no URL.
    size
        Bytes once decompressed, as far as they were read.
    """

    kind: str | None = None
    locs: list[str] = field(default_factory=list)
    lastmods: list[str | None] = field(default_factory=list)
    published: dict[int, str] = field(default_factory=dict)
    alternates: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    issues: dict[int, list[str]] = field(default_factory=dict)
    children: list[Child] = field(default_factory=list)
    file_issues: list[str] = field(default_factory=list)
    reason: str | None = None
    skipped: int = 0
    size: int = 0

    def note(self, *codes: str) -> None:
        """Add codes to the file's issues, each once."""
        for code in codes:
            if code not in self.file_issues:
                self.file_issues.append(code)

    @property
    def entries(self) -> int:
        """How many URLs, or files of an index, there are."""
        return len(self.locs) + len(self.children)


def trimmed(text: str) -> str:
    r"""Return a text without the space around it, also what cannot be seen.

    Examples
    --------
    >>> trimmed("\ufeff \u00a0http://example.com/\u200b\n")
    'http://example.com/'
    """
    return text.strip(_PADDING)
