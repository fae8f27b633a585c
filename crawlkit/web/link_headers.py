"""The ``Link`` header of HTTP (RFC 8288), as far as it declares canonicals and alternates."""

from __future__ import annotations

import re

__all__ = ["links_of_header"]

_WORD = r"[\w!#$&+.^`|~*-]++"
_PARAMETER = re.compile(rf';\s*+({_WORD})(?:\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]*+)))?+')
_LINK = re.compile(rf'<([^<>]*+)>((?:\s*+;\s*+{_WORD}(?:\s*+=\s*+(?:"[^"]*+"|[^\s;,"]*+))?+)*+)')
_LONGEST = 65_536


def links_of_header(value: str) -> list[tuple[str, str, str | None]]:
    """Return the links of a header that are canonicals or alternates.

    Parameters
    ----------
    value
        The header; several lines joined by commas.

    Returns
    -------
    list of (str, str, str or None)
        ``"canonical"`` or ``"alternate"``, the target as written, and its ``hreflang``.

    Examples
    --------
    >>> links_of_header('<https://a.example/>; rel="canonical", </de>; rel=alternate; hreflang=de')
    [('canonical', 'https://a.example/', None), ('alternate', '/de', 'de')]
    """
    found: list[tuple[str, str, str | None]] = []
    for match in _LINK.finditer(value[:_LONGEST]):
        parameters: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(match[2]):
            parameters.setdefault(name.lower(), quoted or plain)
        tokens = parameters.get("rel", "").lower().split()
        for kind in ("canonical", "alternate"):
            if kind in tokens:
                found.append((kind, match[1].strip(), parameters.get("hreflang")))
                break
    return found
