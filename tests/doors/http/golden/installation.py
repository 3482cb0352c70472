"""The scene of the golden requests: the demo's people and meetings on a Monday in March 2026, and who asks."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from openslot.app import create_app
from openslot.demo.seed import seed
from openslot.domains.access import operations as access
from openslot.domains.access.models import CredentialKind
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import Limits
from openslot.domains.schedules import operations as schedules
from openslot.doors.web.shared.cookies import csrf_token
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Db
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Work
from openslot.runtime import open_runtime
from tests.doors.http.golden.asgi import Sent, ask, running
from tests.doors.http.golden.cases import Case
from tests.support.private_tokens import get_private_token

MONDAY = datetime(2026, 3, 9, 7, 0, tzinfo=UTC)
TUESDAY = MONDAY + timedelta(hours=30)
ROOMY = 1_000_000
CHANGING = {"x-request-id", "ratelimit-remaining", "ratelimit-reset", "date", "server"}
UNSTEADY = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"/manage/[\w-]{43}"), "/manage/<token>"),
    (re.compile(r"token=[\w-]{43}"), "token=<token>"),
    (re.compile(r"svc_live_\w{38}"), "<key>"),
    (re.compile(r"openslot_session=[\w-]{43}"), "openslot_session=<token>"),
    (re.compile(r"\?v=[0-9a-f]{8}"), "?v=<version>"),
    (re.compile(r'"(?:[0-9a-f]{8}){1,2}"'), '"<version>"'),
    (re.compile(r"ends in <code>\w{4}"), "ends in <code>????"),
)


class GoldenInstallation:
    """An app with people in it, and the words that stand for what is there."""

    def __init__(self, app: Any, words: dict[str, str], db: Db) -> None:
        self._app = app
        self._db = db
        self._words = words
        self._asked = 0

    async def ask(self, case: Case) -> Sent:
        """Send one request, each from an address of its own."""
        self._asked += 1
        if case.method == "POST" and case.target in {"/login", "/account/password"}:
            # All come from one session: what each is told must not depend on how many were wrong before.
            await self._db.execute("delete from wrong_passwords")
        address = f"10.{self._asked >> 16}.{self._asked >> 8 & 255}.{self._asked & 255}"
        headers = {"host": "127.0.0.1:8000", **case.headers}
        if case.who == "key":
            headers["authorization"] = "Bearer <key>"
        elif case.who == "session":
            headers["cookie"] = "openslot_session=<session>"
            headers["x-csrf-token"] = "<csrf>"
        body = case.body
        for word, meaning in self._words.items():
            body = body.replace(f"<{word}>".encode(), meaning.encode())
        return await ask(
            self._app,
            case.method,
            self._fill(case.target),
            headers={name: self._fill(value) for name, value in headers.items()},
            body=body,
            address=address,
        )

    def _fill(self, text: str) -> str:
        for word, meaning in self._words.items():
            text = text.replace(f"<{word}>", meaning)
        return text

    def steady(self, text: str) -> str:
        """Take out of an answer what differs from run to run."""
        for word, meaning in self._words.items():
            text = text.replace(meaning, f"<{word}>")
        for pattern, word in UNSTEADY:
            text = pattern.sub(word, text)
        return text


@asynccontextmanager
async def opening(settings: Settings) -> AsyncIterator[GoldenInstallation]:
    """Put the scene up, with an app in front of it."""
    roomy = replace(settings, limit_key=ROOMY, limit_public=ROOMY, limit_failed_auth=ROOMY)
    app = create_app(roomy, clock=lambda: MONDAY)
    async with open_runtime(roomy, clock=lambda: MONDAY) as runtime:
        async with runtime.transaction(OPERATOR) as work:
            words = await _people(work)
        async with running(app):
            yield GoldenInstallation(app, words, runtime.pool)


async def _people(work: Work) -> dict[str, str]:
    setup = await access.create_setup_link(work)
    seeded = await seed(work)
    mara = await accounts.get_user_by_email(work, seeded.user.email)
    jonas = await accounts.get_user_by_email(work, "jonas@harbor.example")
    theirs = await contacts.add_contact(
        work, jonas, ContactWanted(name=Name("Li"), email=EmailAddress("li@okafor.example"))
    )
    one_of = "select id from {} where {} = $1 order by {} limit 1"
    their_offer = await work.db.fetchval(one_of.format("event_types", "owner_id", "slug"), jonas.id)
    li = Invitee(name="Li", email="li@okafor.example", zone="UTC")
    booked = await bookings.create_booking(work, BookingWanted(which=ById(their_offer), starts_at=TUESDAY, invitee=li))
    held = await claims.hold_slot(work, ById(their_offer), TUESDAY + timedelta(days=1), holder="192.0.2.1")
    full = await _fill_day(work, jonas, li)
    ids = {
        "booking": "host_id = $1 and status = 'CONFIRMED' and starts_at > $2 order by starts_at",
        "managed": "host_id = $1 and status = 'CONFIRMED' and starts_at > $2 order by starts_at desc",
        "cancelled": "host_id = $1 and status = 'CANCELLED' and starts_at > $2 order by starts_at",
        "past": "host_id = $1 and status = 'CONFIRMED' and ends_at < $2 order by starts_at",
    }
    found = {
        word: str(await work.db.fetchval(f"select id from bookings where {which} limit 1", mara.id, MONDAY))
        for word, which in ids.items()
    }
    keys = await access.list_credentials(work, CredentialKind.API_KEY, mara.id)
    session = await access.begin_session(work, mara, user_agent="golden")
    session_id = await work.db.fetchval("select id from sessions where hash = $1", fingerprint(session))
    return found | {
        "key": seeded.api_key,
        "session": session,
        "csrf": csrf_token(work.runtime, session_id),
        "password": seeded.user.password,
        "setup": setup or "",
        "intro": next(each.id for each in seeded.event_types if each.slug == "intro-call"),
        "private": await _read_private_token(work, mara),
        "contact": str(await work.db.fetchval(one_of.format("contacts", "owner_id", "email"), mara.id)),
        "foreign-contact": str(theirs.id),
        "foreign-booking": str(booked.id),
        "hold": str(held.id),
        "link": await _create_link(work, mara),
        "full": str(full),
        "foreign-event-type": str(their_offer),
        "api-key": str(keys[0].id),
        "manage": manage_token(work.runtime, await work.db.fetchval("select $1::uuid", found["managed"])),
    }


async def _create_link(work: Work, host: User) -> str:
    offered = await event_types.get_event_type_by_slug(work, host, "intro-call")
    return str((await links.create_booking_link(work, host, offered.id, uses=2))[1].link.id)


async def _fill_day(work: Work, host: User, invitee: Invitee) -> UUID:
    """Offer a meeting a day, with a wait list, and book one."""
    schedule, *_ = await schedules.list_schedules(work, host)
    draft = event_types.draft_event_type(work, schedule, name="One a day", slug="one-a-day", duration_minutes=30)
    wanted = replace(draft, limits=Limits(per_day=1), wait_list_minutes=120)
    offered = await event_types.add_event_type(work, schedule, wanted)
    start = TUESDAY + timedelta(days=7)
    await bookings.create_booking(work, BookingWanted(which=ById(offered.id), starts_at=start, invitee=invitee))
    return offered.id


async def _read_private_token(work: Work, host: User) -> str:
    offered, _ = await event_types.list_event_types(work, host)
    return await get_private_token(work, next(each for each in offered if each.slug == "partner-sync"))
