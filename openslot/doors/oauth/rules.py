"""Decisions: which addresses users are sent back to, what scopes mean, and how a program proves that it began."""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable

from openslot.domains.accounts.models import AssistantPolicy
from openslot.doors.oauth.models import AssistantScope, RedirectUri
from openslot.platform.i18n import Text

LONGEST_URI = 2000
LONGEST_NAME = 100
# Strictly as RFC 3986 writes it: no user, no backslash, no fragment, nothing outside of ASCII, no encoded host.
HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[::1\]"
SIGN = r"[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2}"
URI = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{HOST})(?P<port>:[0-9]{{1,5}})?(?P<rest>/(?:{SIGN})*)?(?P<query>\?(?:{SIGN}|\?)*)?",
    re.ASCII,
)
# Installed programs take a scheme for themselves (RFC 8252, section 7.1): the name of a domain in reverse, to which
# no browser gives a meaning, or one of these, whose programs are known.
PROGRAMS = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf", "raycast"})
PRIVATE = re.compile(
    rf"(?P<scheme>[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*):(?P<rest>(?://[A-Za-z0-9.-]+)?(?:/(?!/)(?:{SIGN})*)?)(?P<query>\?(?:{SIGN}|\?)*)?",
    re.ASCII,
)
LOOPBACK = frozenset({"127.0.0.1", "[::1]", "localhost"})
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
DOT_SEGMENTS = re.compile(r"/\.{1,2}(?:/|$)")

READ_SCOPES = frozenset({AssistantScope.BOOKINGS_READ, AssistantScope.EVENT_TYPES_READ, AssistantScope.CONTACTS_READ})
IMPLIED = {
    AssistantScope.BOOKINGS_WRITE: AssistantScope.BOOKINGS_READ,
    AssistantScope.CONTACTS_WRITE: AssistantScope.CONTACTS_READ,
}
# In the order in which people are asked.
ORDER = tuple(AssistantScope)
# In the words in which they are asked.
SCOPES = {
    AssistantScope.BOOKINGS_READ: Text("See your bookings and when you are free"),
    AssistantScope.BOOKINGS_WRITE: Text("Create, reschedule and cancel bookings, block time, and share booking links"),
    AssistantScope.EVENT_TYPES_READ: Text("See your event types"),
    AssistantScope.CONTACTS_READ: Text("See your contacts"),
    AssistantScope.CONTACTS_WRITE: Text("Create, change and delete contacts"),
    AssistantScope.OFFLINE_ACCESS: Text("Stay connected"),
}


def parse_redirect(uri: str) -> RedirectUri | None:
    """Read an address to return to; None if nobody may be sent there: only https, or a program on this computer."""
    if len(uri) > LONGEST_URI:
        return None
    found = URI.fullmatch(uri)
    if found is None:
        return _parse_private(uri)
    scheme, host, port = found["scheme"], found["host"], found["port"] or ""
    if port and not 0 < int(port[1:]) < 65536:
        return None
    is_loopback = scheme == "http" and host in LOOPBACK
    if scheme == "http" and not is_loopback:
        return None
    rest = (found["rest"] or "") + (found["query"] or "")
    return RedirectUri(
        origin=f"{scheme}://{host}{port}",
        site=f"{host}{port}".lower(),
        is_loopback=is_loopback,
        without_port=f"{scheme}://{host}{rest}",
    )


def _parse_private(uri: str) -> RedirectUri | None:
    """Read an address with a scheme that a program on this computer has taken for itself."""
    found = PRIVATE.fullmatch(uri)
    if found is None or not found["rest"] or ("." not in found["scheme"] and found["scheme"] not in PROGRAMS):
        return None
    origin = f"{found['scheme']}:"
    return RedirectUri(origin=origin, site=origin, is_loopback=False, is_private=True, without_port=uri)


def may_return_to(registered: Iterable[str], wanted: str) -> bool:
    """Return whether an address is one of the program's own, character by character.

    A program on the user's own computer listens on whatever port is free there (RFC 8252, section 7.3).
    """
    parsed = parse_redirect(wanted)
    if parsed is None:
        return False
    for uri in registered:
        own = parse_redirect(uri)
        if own is None:
            continue
        if uri == wanted or (parsed.is_loopback and own.is_loopback and own.without_port == parsed.without_port):
            return True
    return False


def is_document_address(client_id: str) -> bool:
    """Return whether an id is the address of a document: https with a path, that is written in only one way."""
    found = URI.fullmatch(client_id) if len(client_id) <= LONGEST_URI else None
    if found is None or found["scheme"] != "https" or found["query"] is not None:
        return False
    path = found["rest"] or ""
    return len(path) > 1 and DOT_SEGMENTS.search(path) is None and found["host"] == found["host"].lower()


def read_scopes(text: str) -> frozenset[AssistantScope]:
    """Read the scopes that are known; those that are not are left out, as RFC 6749 allows."""
    return frozenset(AssistantScope(word) for word in text.split(" ") if word in set(AssistantScope))


def write_scopes(scopes: Iterable[str]) -> str:
    return " ".join(sorted(scopes))


def with_implied(scopes: Iterable[AssistantScope]) -> frozenset[AssistantScope]:
    """Add what goes with it: whoever may change something may look at it."""
    given = frozenset(scopes)
    return given | {IMPLIED[scope] for scope in given if scope in IMPLIED}


def allowed_by(policies: Iterable[AssistantPolicy], scopes: Iterable[AssistantScope]) -> frozenset[AssistantScope]:
    """Leave out what one of the user's organizations does not allow."""
    given = frozenset(policies)
    if AssistantPolicy.FORBIDDEN in given:
        return frozenset()
    kept = READ_SCOPES | {AssistantScope.OFFLINE_ACCESS} if AssistantPolicy.READ in given else frozenset(AssistantScope)
    return frozenset(scopes) & kept


def is_proven(challenge: str, verifier: str) -> bool:
    """Return whether the verifier is the one whose hash came with the request (RFC 7636, S256)."""
    if VERIFIER.fullmatch(verifier) is None:
        return False
    made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return hmac.compare_digest(made, challenge)
