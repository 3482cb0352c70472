"""Decisions about webhooks: when a try succeeds, when it is repeated, when an endpoint is switched off; signatures."""

import base64
import hmac
import os
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from uuid import UUID

from standardwebhooks import Webhook

from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import INVISIBLE, is_visible

# The first try is made at once: ten in all, over 75 h 35 m.
DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
HOLDS_BACK = timedelta(minutes=5)
CONNECT_WITHIN = timedelta(seconds=5)
ANSWER_WITHIN = timedelta(seconds=15)
ANSWER_KEPT = 1024
GONE = 410

FAILS_AT_MOST = timedelta(days=5)
SECRETS_OVERLAP = timedelta(hours=24)
ROTATE_AGAIN_AFTER = timedelta(minutes=1)
LOG_KEPT_FOR = timedelta(days=30)
MAX_ENDPOINTS = 20
MAX_REPLAYED = 10_000
LONGEST_DESCRIPTION = 200


def check_events(chosen: Collection[str], known: Collection[str], *, field: str = "events") -> tuple[str, ...]:
    """Keep each event once, in the order known, or refuse those that don't exist; none chosen means all."""
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise Invalid(details={field: describe_unknown(unknown, known)})
    return tuple(name for name in known if name in chosen)


def describe_unknown(unknown: Collection[str], known: Collection[str]) -> str:
    return f"must be one of {', '.join(known)}, not {', '.join(unknown)}"


def check_description(text: str | None) -> str | None:
    """Return a description, None if it is blank, or refuse one that is too long or can't be seen."""
    kept = (text or "").strip()
    if kept and not is_visible(kept):
        raise Invalid(details={"description": INVISIBLE})
    if len(kept) > LONGEST_DESCRIPTION or not kept.isprintable():
        raise Invalid(details={"description": f"must be one line of at most {LONGEST_DESCRIPTION} characters"})
    return kept or None


def is_taken(status: int) -> bool:
    return 200 <= status < 300


def describe_failure(status: int) -> str:
    if 300 <= status < 400:
        return f"The endpoint answered {status}; redirects are not followed."
    return f"The endpoint answered {status}."


def read_retry_after(text: str | None, *, now: datetime) -> timedelta | None:
    """Read how long the receiver asks to wait: seconds or a date; None if the header is missing or invalid."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:9]), 10**8))
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    wait = (until if until.tzinfo else until.replace(tzinfo=UTC)) - now
    return wait if wait > timedelta() else None


def is_hopeless(failing_since: datetime, *, now: datetime) -> bool:
    return now - failing_since >= FAILS_AT_MOST


PREFIX = "whsec_"
SECRET_BYTES = 32
TOLERANCE = timedelta(minutes=5)
SECONDS = re.compile(r"[1-9][0-9]{0,10}", re.ASCII)
LONGEST_HEADER = 4096


def new_secret() -> str:
    return PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


def sign(message_id: str, body: bytes, *, secrets: Sequence[str], at: datetime) -> str:
    """Sign a message with every secret that is valid, by spaces."""
    return " ".join(Webhook(secret).sign(message_id, at, body.decode()) for secret in secrets)


def signed_headers(message_id: UUID | str, body: bytes, *, secrets: Sequence[str], at: datetime) -> dict[str, str]:
    """Write the three headers of one try; the id is the event's own, whichever endpoint and try it is."""
    return {
        "webhook-id": str(message_id),
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": sign(str(message_id), body, secrets=secrets, at=at),
    }


class SignatureRefused(Exception):
    """A message is not signed by who should have signed it, or not now; its argument says why."""


def verify(headers: Mapping[str, str], body: bytes, *, secrets: Sequence[str], now: datetime) -> str:
    """Return the id of a message that one of the secrets has signed within these minutes, or refuse it.

    The names of the headers are in lower case.
    """
    id_, seconds, given = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not id_ or not given or max(len(id_), len(given)) > LONGEST_HEADER or not (id_ + given).isascii():
        raise SignatureRefused("the signature is missing or malformed")
    if not SECONDS.fullmatch(seconds):
        raise SignatureRefused("the signature has no time")
    at = datetime.fromtimestamp(int(seconds), UTC)
    if abs(now - at) > TOLERANCE:
        raise SignatureRefused("the signature is too old, or from the future")
    try:
        expected = sign(id_, body, secrets=secrets, at=at).split()
    except UnicodeDecodeError:
        raise SignatureRefused("the body is not UTF-8") from None
    # Every pair is compared: how long it takes tells nothing.
    if not sum(hmac.compare_digest(ours, theirs) for ours in expected for theirs in given.split()):
        raise SignatureRefused("the signature is not valid")
    return id_
