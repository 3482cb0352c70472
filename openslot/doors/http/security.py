"""Headers that make browsers protect the user."""

from openslot.doors.http.doors import RawHeaders
from openslot.platform.core.config import Settings

EVERYWHERE: RawHeaders = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"strict-origin-when-cross-origin"),
)
PAGE_POLICY = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
)
# Booking pages, and no others, may be shown inside the pages of other sites.
FRAMED_POLICY = PAGE_POLICY.replace(b"frame-ancestors 'none'", b"frame-ancestors *")

# The page of a mail shows its HTML in a frame.
FRAMING_POLICY = PAGE_POLICY + b"; frame-src 'self'"
# The page of a call plays its recording.
PLAYING_POLICY = PAGE_POLICY + b"; media-src 'self'"
# As a mail program shows it: with its own styles, without scripts or anything from elsewhere, and shut in its frame.
MAIL_POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; base-uri 'none'; "
    b"form-action 'none'; sandbox"
)


def api_headers(settings: Settings) -> RawHeaders:
    """Return the headers for responses that no browser should show, frame or store."""
    return (
        *EVERYWHERE,
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"cache-control", b"no-store"),
        *_transport(settings),
    )


def page_headers(settings: Settings) -> RawHeaders:
    """Return the headers for pages: only our own styles and scripts, no frames, no browser features."""
    return (
        *EVERYWHERE,
        (b"content-security-policy", PAGE_POLICY),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=()"),
        *_transport(settings),
    )


def _transport(settings: Settings) -> RawHeaders:
    if not settings.public_url.startswith("https://"):
        return ()
    subdomains = b"; includeSubDomains" if settings.hsts_subdomains else b""
    return ((b"strict-transport-security", b"max-age=63072000" + subdomains),)
