"""The verbs of a user's own sessions, the browsers they are in, and devices that are known from an earlier sign-in."""

import base64
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from secrets import token_bytes
from uuid import UUID

import asyncpg
import structlog

from openslot.domains.access import store
from openslot.domains.access.errors import SessionNotFound
from openslot.domains.access.models import Session
from openslot.domains.accounts.models import User
from openslot.platform.core.ids import Signer
from openslot.platform.core.work import Runtime, Work

MAX_WAITING = 1000

log = structlog.get_logger()


async def list_sessions(work: Work, user: User) -> list[Session]:
    """List where a user is signed in: the session that asks, then by their last use, newest first."""
    this = work.actor.credential_id
    return await store.list_sessions(work.db, user.id, this=this, now=work.now, limit=200)


async def end_session(work: Work, user: User, session_id: UUID) -> None:
    """Sign a user out in one browser, from the next request on."""
    if not await store.delete_own_session(work.db, user.id, session_id):
        raise SessionNotFound


async def end_other_sessions(work: Work, user: User) -> int:
    """Sign a user out everywhere but in the browser that asks for it, and return how many sessions ended."""
    if work.actor.credential_id is None:
        raise SessionNotFound
    return await store.delete_other_sessions(work.db, user.id, kept=work.actor.credential_id)


def notice_use(runtime: Runtime, session_id: UUID, *, seen_at: datetime, now: datetime) -> None:
    """Have the hour of a session's use written, at most once an hour; the request does not wait for it."""
    if now - seen_at >= timedelta(hours=1):
        runtime.batcher(_note_seen).tell(session_id, max_waiting=MAX_WAITING)


async def _note_seen(runtime: Runtime, session_ids: Sequence[UUID]) -> Sequence[None]:
    hour = runtime.clock().replace(minute=0, second=0, microsecond=0)
    try:
        await store.note_seen(runtime.pool, session_ids, hour=hour)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as fault:
        log.warning("uses of sessions were not written", sessions=len(session_ids), error=str(fault))
    return [None] * len(session_ids)


DEVICE_LASTS = timedelta(days=365)
PURPOSE = "known device"
# Random bytes that name the device, the user, when it was made, and the signature.
NAME, USER, TIME, SIGNATURE = 16, 16, 8, 32
LENGTH = (NAME + USER + TIME + SIGNATURE) * 4 // 3


def new_device(signer: Signer, user_id: UUID, *, password_hash: str, now: datetime) -> str:
    """Make a token for a device; it becomes invalid when the user's password changes."""
    message = token_bytes(NAME) + user_id.bytes + int(now.timestamp()).to_bytes(TIME, "big")
    return base64.urlsafe_b64encode(message + signer.sign(PURPOSE, message + password_hash.encode())).decode()


def find_device(signer: Signer, token: str, user_id: UUID, *, password_hash: str, now: datetime) -> str | None:
    """Name the device whose token this is; None if it is not this user's, too old, or of an earlier password."""
    if len(token) != LENGTH:
        return None
    try:
        whole = base64.b64decode(token, altchars=b"-_", validate=True)
    except ValueError:
        return None
    # The decoder also accepts `+` for `-` and `/` for `_`, but a token must have only one spelling.
    if base64.urlsafe_b64encode(whole).decode() != token:
        return None
    message, signature = whole[:-SIGNATURE], whole[-SIGNATURE:]
    if not signer.is_signed(PURPOSE, message + password_hash.encode(), signature):
        return None
    name, user, made_at = message[:NAME], message[NAME : NAME + USER], int.from_bytes(message[NAME + USER :], "big")
    is_fresh = now.timestamp() < made_at + DEVICE_LASTS.total_seconds()
    return name.hex() if user == user_id.bytes and is_fresh else None


# In this order: most browsers name those that they descend from too.
BROWSERS = (
    ("Edge", r"\bEdg(e|A|iOS)?/"),
    ("Opera", r"\bOPR/|\bOPT/|\bOpera\b"),
    ("Samsung Internet", r"\bSamsungBrowser/"),
    ("Vivaldi", r"\bVivaldi/"),
    ("Yandex", r"\bYaBrowser/"),
    ("DuckDuckGo", r"\bDuckDuckGo/|\bDdg/"),
    ("Firefox", r"\b(Firefox|FxiOS)/"),
    ("Chrome", r"\b(Chrome|CriOS|Chromium|HeadlessChrome)/"),
    ("Safari", r"\bVersion/[\d.]+ .*Safari/"),
    ("Internet Explorer", r"\bMSIE |\bTrident/"),
    ("curl", r"^curl/"),
)
SYSTEMS = (
    ("iPhone", r"\biPhone\b|\biPod\b"),
    ("iPad", r"\biPad\b"),
    ("Android", r"\bAndroid\b"),
    ("Windows", r"\bWindows\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Mac", r"\bMacintosh\b|\bMac OS X\b"),
    ("Linux", r"\bLinux\b|\bX11\b"),
)


def find_browser(user_agent: str) -> str | None:
    return _find(BROWSERS, user_agent)


def find_system(user_agent: str) -> str | None:
    return _find(SYSTEMS, user_agent)


def _find(names: tuple[tuple[str, str], ...], user_agent: str) -> str | None:
    return next((name for name, pattern in names if re.search(pattern, user_agent)), None)
