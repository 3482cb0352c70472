"""Usernames: the first word of a booking page's address."""

import re
import unicodedata

from openslot.i18n import Text

_FIRST_WORDS = """
about account accounts admin administrator analytics api app apple-touch-icon assets auth availability billing blog
bookings calendar calls contact contacts conversations dashboard developers docs e embed en event-types events
favicon.ico feed health healthz help holds home hooks invite join legal llms.txt login logout manage manifest.json mcp
me members messages metrics new oauth openapi openslot org organization organizations pages password pay payments photos
pricing privacy public readyz register reschedule robots.txt root schedules schemas scim search security settings setup
sign-in sign-out sign-up signup sitemap.xml sms static status support system team teams terms unsubscribe user users v1
v2 verify voice webhook webhooks welcome well-known .well-known whatsapp widget widget-demo widget.js www
"""
RESERVED = frozenset(_FIRST_WORDS.split())
SHAPE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")


def find_fault(username: str) -> str | None:
    if not SHAPE.fullmatch(username):
        return Text(
            "must be 1 to 50 lower-case letters, digits and hyphens, beginning and ending with a letter or digit"
        )
    if username in RESERVED:
        return Text("is reserved")
    return None


def suggest(name: str, email: str) -> str:
    """Make a username from a person's name, or else from the address."""
    for source in (name, email.partition("@")[0]):
        plain = unicodedata.normalize("NFKD", source).encode("ascii", "ignore").decode().lower()
        candidate = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-")
        if candidate and find_fault(candidate) is None:
            return candidate
    return "host"
