"""Why a request failed, as stable codes; and what is odd about an answer, as stable flags.

A code is what a row keeps: lower_snake_case, never renamed, each with one line that says what it
means. `reason_for` is the one place where exceptions of sockets and TLS become codes.
"""

from __future__ import annotations

import errno
import socket
import ssl

__all__ = ["FLAGS", "REASONS", "RETRYABLE", "FetchFailed", "reason_for"]

#: Every error code of a request, with its meaning.
REASONS: dict[str, str] = {
    # the address
    "bad_url": "The address cannot be parsed, or its host is impossible.",
    "bad_port": "The port is 0, above 65535 or no number.",
    "no_scheme": "The address is relative; there is no page to resolve it against.",
    "not_http": "The address is neither http nor https.",
    "not_text": "The address is missing or is no text.",
    "too_long": "The address is longer than servers accept.",
    "private_address": "The host is a private, loopback or otherwise non-public address.",
    "bad_request": "The request, or a header of it, cannot be written in HTTP.",
    # the name and the connection
    "dns_not_found": "The host name does not exist.",
    "dns_failed": "The host name could not be looked up now.",
    "connect_refused": "The server refuses connections on this port.",
    "connect_timeout": "No connection came about in time.",
    "connect_failed": "The server's address cannot be reached.",
    "proxy_failed": "The proxy could not be reached, or refused.",
    "tls_certificate": "The certificate is expired, self-signed or for another host.",
    "tls_failed": "No encrypted connection could be agreed on.",
    "auth_failed": "The server's challenge could not be answered.",
    # time
    "timeout": "The answer was not complete within the total time for one request.",
    "interrupted": "The crawl was stopped while this request waited.",
    # the answer's head
    "connection_reset": "The connection broke before the answer was complete.",
    "empty_reply": "The server closed the connection without a word.",
    "bad_response": "What came back is not HTTP/1.",
    "too_many_interim": "The server sent interim answers (1xx) without end.",
    "headers_too_large": "The answer's headers are too long or too many.",
    "bad_length": "The answer names two different lengths.",
    # the answer's body
    "truncated": "The body ended before it was complete.",
    "bad_chunk": "The body's chunks are not what RFC 9112 allows.",
    "body_too_large": "The body is larger than the limit, on the wire or decoded.",
    "compression_bomb": "The body grows absurdly when it is decompressed.",
    "undecodable": "The body is not what its Content-Encoding says; the raw bytes are kept.",
    "encoding_not_offered": "The body has a compression that was not offered; raw bytes are kept.",
    "too_many_encodings": "The body was compressed more often than any sound server does.",
    # redirects
    "redirect_not_http": "The redirect leads to an address that is not http or https.",
    "redirect_bad_url": "The redirect leads to an address that cannot be asked for.",
    "redirect_loop": "The redirects lead back to an address already asked.",
    "too_many_redirects": "The chain of redirects is longer than the limit.",
    # anything else below HTTP
    "network_failed": "The operating system reported a network error.",
}

#: Codes that another attempt may cure.
RETRYABLE: frozenset[str] = frozenset(
    {
        "dns_failed",
        "connect_refused",
        "connect_timeout",
        "connect_failed",
        "proxy_failed",
        "timeout",
        "connection_reset",
        "empty_reply",
        "truncated",
        "bad_chunk",
        "network_failed",
    }
)

#: What is odd about an answer that could still be read.
FLAGS: dict[str, str] = {
    "reconnected": "An idle connection was closed by the server; asked again on a fresh one.",
    "auth_challenge": "Asked twice: the first answer was a challenge.",
    "bad_header_line": "Header lines or characters that HTTP forbids were left out.",
    "duplicate_content_type": "More than one Content-Type; the last valid one counts.",
    "length_unknown": "The body ended with the connection; a cut cannot be told from the end.",
    "length_invalid": "Content-Length is no number; the body ended with the connection.",
    "length_and_chunked": "Both a length and chunks; the chunks count (RFC 9112 6.3).",
    "extra_bytes": "The server sent more than the length that it named.",
    "body_ignored": "A body came with a status that has none (204, 304).",
    "unknown_encoding": "Content-Encoding is not known; the body is as it came.",
    "trailing_bytes": "Bytes after the end of the compressed data were left out.",
    "raw_body": "The body is as it came over the wire, not decoded.",
    "downgrade": "The redirect leads from https to http.",
}


class FetchFailed(Exception):
    """One request failed; it never leaves `Fetcher`.

    Deliberately no OSError: nothing between a socket and the fetcher may take it for a network
    error and wrap it.
    """

    def __init__(self, code: str, detail: str | None = None, *, start: bytes = b"") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail
        self.start = start  # the beginning of a body that is too large, where it was read


def reason_for(error: Exception) -> tuple[str, str]:
    """Return the code and a short text for an exception of the network stack.

    Parameters
    ----------
    error
        An OSError (sockets, TLS, requests), or a ValueError: something could not be encoded.

    Returns
    -------
    tuple
        A code of `REASONS`, and the exception's own words.

    Examples
    --------
    >>> reason_for(ConnectionResetError(104, "Connection reset by peer"))
    ('connection_reset', '[Errno 104] Connection reset by peer')
    """
    detail = str(getattr(error, "verify_message", "") or error)[:300]
    if getattr(error, "errno", None) == errno.ENOTCONN:  # reset as soon as it was connected
        return "connection_reset", detail
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, detail
    return "bad_request", detail


# Narrow kinds first: every one of them is an OSError.
_CODES: tuple[tuple[type[Exception], str], ...] = (
    (ssl.SSLCertVerificationError, "tls_certificate"),
    (ssl.SSLEOFError, "connection_reset"),
    (ssl.SSLZeroReturnError, "connection_reset"),
    (ssl.SSLError, "tls_failed"),
    (socket.gaierror, "dns_failed"),
    (ConnectionRefusedError, "connect_refused"),
    (ConnectionError, "connection_reset"),
    (TimeoutError, "timeout"),
    (OSError, "network_failed"),
)
