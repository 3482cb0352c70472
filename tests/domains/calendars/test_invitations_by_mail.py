"""If the host's calendar can't invite, or not in time, our mail does: once, and with the last word right."""

from collections.abc import Awaitable, Callable

import pytest

from openslot.domains.bookings.models import Status
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.invitations import invite_instead
from openslot.domains.calendars.models import ConnectionRef
from openslot.platform.core.actor import OPERATOR
from tests.domains.calendars.conftest import events, read
from tests.domains.calendars.inviting import ADA, JONAS, Host, host
from tests.domains.calendars.support import cancel, move
from tests.domains.mail.conftest import messages, part
from tests.support.google_host import EMAIL, google, settings

__all__ = ["google", "host", "settings"]


async def revoke(host: Host) -> None:
    host.google.consents.revoke(EMAIL)
    host.google.consents.end_access_tokens()


async def fail(host: Host) -> None:
    host.refuse()


async def forbid(host: Host) -> None:
    host.refuse(403, "forbidden")


async def lose_calendar(host: Host) -> None:
    host.refuse(404, "notFound")


async def disconnect(host: Host) -> None:
    async with host.runtime.transaction(OPERATOR) as work:
        await calendars.disconnect(work, ConnectionRef(host.connection.id))


BREAKS = pytest.mark.parametrize("breaks", [revoke, fail, forbid, lose_calendar, disconnect])


@BREAKS
async def test_if_google_can_not_invite_our_mail_does(host: Host, breaks: Callable[[Host], Awaitable[None]]) -> None:
    booking = await host.book(guests=(ADA,))
    await breaks(host)
    await host.work()
    assert await host.got() == []

    await host.wait()

    assert (await host.got(), await host.got(ADA)) == (["our REQUEST"], ["our REQUEST"])
    last = (await messages(host.runtime, JONAS))[-1]
    assert "could not send it" in part(last, "text/plain")
    assert "/reschedule" in part(last, "text/plain")
    assert len(await events(host.runtime, "booking.invitation_failed")) == 1
    assert len(await messages(host.runtime, host.user.email)) >= 1
    # From here on the mail is the only one to invite, also if Google can be asked again.
    host.google.faults.clear()
    await move(host.runtime, booking, 1)
    await host.wait()
    await cancel(host.runtime, booking)
    await host.wait()
    assert await host.got() == ["our REQUEST", "our REQUEST", "our CANCEL"]


@BREAKS
async def test_if_google_can_not_tell_of_the_new_time_our_mail_does(
    host: Host, breaks: Callable[[Host], Awaitable[None]]
) -> None:
    booking = await host.book()
    await host.work()
    await breaks(host)

    await move(host.runtime, booking, 1)
    await host.wait()

    assert await host.got() == ["invitation", "our REQUEST"]
    host.google.faults.clear()
    await host.work(days=3)
    assert await host.got() == ["invitation", "our REQUEST"]
    assert (await read(host.runtime, booking)).status is Status.CONFIRMED


async def test_a_cancellation_that_google_can_not_tell_of_is_told_by_our_mail(host: Host) -> None:
    booking = await host.book()
    await host.work()
    await revoke(host)
    await cancel(host.runtime, booking)
    await host.wait()

    found = await messages(host.runtime, JONAS)
    assert [each["subject"].partition(":")[0] for each in found] == ["Confirmed", "Cancelled"]
    assert await host.got() == ["invitation"]


async def test_an_event_that_is_written_after_our_mail_has_invited_invites_nobody(host: Host) -> None:
    booking = await host.book()
    host.refuse()
    await host.wait()
    host.google.faults.clear()
    await host.work(hours=2)

    event = host.account.calendars[EMAIL].events[booking.id.hex]
    assert "attendees" not in event
    assert await host.got() == ["our REQUEST"]


async def test_workers_that_were_stopped_ask_google_before_our_mail_invites(host: Host) -> None:
    await host.book()
    host.clock.pass_time(hours=2)
    await invite_instead(host.runtime.work(OPERATOR))
    await host.work()

    assert await host.got() == ["invitation"]


async def test_a_write_that_is_under_way_is_waited_for(host: Host) -> None:
    booking = await host.book()
    await host.runtime.pool.execute(
        "update effects set state = 'running', attempts = 3 where reaction = 'calendars.plan' and event_id is not null"
    )
    host.clock.pass_time(hours=2)

    assert await invite_instead(host.runtime.work(OPERATOR)) == "0 invitations sent by mail instead"

    assert (await read(host.runtime, booking)).status is Status.CONFIRMED
    assert await events(host.runtime, "booking.invitation_failed") == []
