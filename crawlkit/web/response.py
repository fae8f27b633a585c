"""What came of one request."""

from __future__ import annotations

from crawlkit.web.headers import Headers

__all__ = ["Response"]

_NO_HEADERS = Headers()


class Response:
    """One request and what came of it: an answer, or a reason.

    Attributes
    ----------
    url : str
        The address that was asked for, without userinfo and fragment.
    status : int or None
        The status as sent (also 999); None when no answer was read.
    headers : Headers
        The answer's headers, without control characters; empty when there is no answer.
    body : bytes
        The decoded body. Empty when `error` is set, except where ``raw_body`` is among the flags,
        or the caller asked for the start of a body that is not whole; empty for a redirect, whose
        body is not read.
    wire_bytes : int
        Bytes of the body as they came, before decoding; on an error, what had arrived by then.
    started_at : float
        When the request began, in seconds since 1970 (UTC).
    elapsed : float
        Seconds until the last byte, or until the failure.
    error : str or None
        A code of `REASONS`; None when the answer was read completely, whatever its status.
    detail : str or None
        The failure in the words of the system, for people; never a key.
    flags : tuple of str
        What was odd, from `FLAGS`.
    location : str or None
        Where a redirect leads, absolute; None when this is no redirect that can be followed.
    retry_after : float or None
        Seconds that the server asks to wait, 0 to 86,400.
    content_type : str or None
        The Content-Type that counts.
    peer : str or None
        The address connected to (the proxy's when there is one).
    sent_at : float or None
        When the request had gone out whole, on the monotonic clock; None when none did.

    Examples
    --------
    >>> Response("https://example.com/", error="dns_not_found")
    Response('https://example.com/', error='dns_not_found')
    """

    __slots__ = (
        "body",
        "content_type",
        "detail",
        "elapsed",
        "error",
        "flags",
        "headers",
        "location",
        "peer",
        "retry_after",
        "sent_at",
        "started_at",
        "status",
        "url",
        "wire_bytes",
    )

    def __init__(
        self,
        url: str,
        *,
        status: int | None = None,
        headers: Headers = _NO_HEADERS,
        body: bytes = b"",
        wire_bytes: int = 0,
        started_at: float = 0.0,
        elapsed: float = 0.0,
        error: str | None = None,
        detail: str | None = None,
        flags: tuple[str, ...] = (),
        location: str | None = None,
        retry_after: float | None = None,
        content_type: str | None = None,
        peer: str | None = None,
    ) -> None:
        self.url = url
        self.status = status
        self.headers = headers
        self.body = body
        self.wire_bytes = wire_bytes
        self.started_at = started_at
        self.elapsed = elapsed
        self.error = error
        self.detail = detail
        self.flags = flags
        self.location = location
        self.retry_after = retry_after
        self.content_type = content_type
        self.peer = peer
        self.sent_at: float | None = None

    def __repr__(self) -> str:
        shown = [repr(self.url)]
        if self.status is not None:
            shown.append(f"status={self.status}")
        if self.error is not None:
            shown.append(f"error={self.error!r}")
        if self.flags:
            shown.append(f"flags={self.flags!r}")
        if self.body:
            shown.append(f"size={len(self.body)}")
        return f"Response({', '.join(shown)})"
