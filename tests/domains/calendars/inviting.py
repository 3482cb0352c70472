"""A host whose calendar at Google invites, and what reaches those who book."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.invitations import WITHIN, invite_instead
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, change, work_off
from tests.domains.mail.conftest import messages
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle, Fault, FaultKind, GoogleAccount
from tests.support.google_host import EMAIL, allow

TEN = NINE + HOUR
JONAS, ADA, BEN = "jonas@okafor.example", "ada@okafor.example", "ben@okafor.example"
EVENTS = f"/calendar/v3/calendars/{EMAIL.replace('@', '%40')}/events"


class Host(Struct, frozen=True):
    """A host whose Google account is connected, and what reaches those who book."""

    runtime: Runtime
    user: User
    clock: MovingClock
    account: GoogleAccount
    google: FakeGoogle
    connection: CalendarConnection

    async def choose(self, *, invites: bool) -> None:
        await change(self.runtime, self.connection, invites=invites)

    async def book(self, start: datetime = TEN, *, email: str = JONAS, **more: Any) -> Booking:
        invitee = Invitee(name="Jonas Okafor", email=email, zone="Africa/Lagos")
        wanted = BookingWanted(which=BySlug(self.user.id, "30min"), starts_at=start, invitee=invitee, **more)
        async with self.runtime.transaction(PUBLIC) as work:
            return await bookings.create_booking(work, wanted)

    async def work(self, **time: float) -> None:
        """Let the workers and the clock go on."""
        self.clock.now += timedelta(**time)
        await work_off(self.runtime, self.clock)
        await invite_instead(self.runtime.work(OPERATOR))
        await work_off(self.runtime, self.clock)

    async def wait(self) -> None:
        """Let the time pass that a calendar has, and some more."""
        for _ in range(6):
            await self.work(minutes=WITHIN.total_seconds() / 60 / 4)

    async def got(self, address: str = JONAS) -> list[str]:
        """List what has put the meeting into somebody's calendar, or changed it there: Google's mails, then ours."""
        ours = [each for each in await messages(self.runtime, address) if has_entry(each)]
        theirs = [each.kind for each in self.account.mails if each.to == address]
        return [*theirs, *(f"our {method_of(each)}" for each in ours)]

    def refuse(self, status: int = 503, reason: str = "backendError", *, times: int = 50) -> None:
        """Let Google refuse what is written."""
        for method in ("POST", "PATCH", "DELETE"):
            body = b'{"error": {"errors": [{"reason": "%s"}]}}' % reason.encode()
            fault = Fault(FaultKind.STATUS, EVENTS, method, status=status, body=body)
            self.google.faults += [fault] * times

    def lose(self, method: str) -> None:
        """Let Google do what is asked, and lose its answer."""
        self.google.faults.append(Fault(FaultKind.LOSE_ANSWER, EVENTS, method))


def has_entry(message: object) -> bool:
    return any(each.get_content_type() == "text/calendar" for each in message.walk())  # type: ignore[attr-defined]


def method_of(message: object) -> str:
    found: Iterator[str] = (
        str(each.get_param("method"))
        for each in message.walk()  # type: ignore[attr-defined]
        if each.get_content_type() == "text/calendar"
    )
    return next(found)


@pytest.fixture
async def host(runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle) -> Host:
    """Connect the host's account, and let it invite."""
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    assert await sync_connection(runtime, made.id) is None
    found = Host(runtime, user, clock, google.accounts[EMAIL], google, made)
    await found.choose(invites=True)
    return found
