"""Web and workers are killed while people book: the host's CRM has each meeting once, as it is in the end, in order."""

import asyncio

from openslot.accounts.models import User
from openslot.core.actor import OPERATOR
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.crm import operations
from openslot.crm.models import CrmWanted, MeetingOutcome
from tests.bookings.conftest import offer
from tests.journeys.test_killed_effects import BOOKINGS, LEFT, book_all, list_starts, processes
from tests.support.fake_crm import receiving_crm
from tests.support.fake_server import Fault, FaultKind
from tests.support.live import connect
from tests.support.loopback import settings

__all__ = ["settings"]


async def test_every_meeting_is_there_once(
    runtime: Runtime, settings: Settings, user: User, bearer: dict[str, str]
) -> None:
    await offer(runtime, user, "short", duration_minutes=10)
    starts = await list_starts(runtime, user)
    async with receiving_crm() as receiver:
        wanted = CrmWanted(vendor="webhook", account=receiver.url)
        receiver.secret = (await operations.connect(runtime.work(OPERATOR), user, wanted)).new_secret or ""
        receiver.faults += [Fault(FaultKind.LOSE_ANSWER), Fault(FaultKind.STATUS), Fault(FaultKind.HANG_UP)] * 2
        async with (
            processes(settings) as running,
            connect(f"http://127.0.0.1:{running.port}", headers=bearer, timeout=30) as client,
        ):
            killing = asyncio.create_task(running.kill_now_and_then())
            await book_all(client, starts)
            await killing
            async with asyncio.timeout(120 + BOOKINGS):
                while await runtime.pool.fetchval(LEFT):
                    await asyncio.sleep(0.5)

    rows = await runtime.pool.fetch("select id, starts_at, status, reschedule_count from bookings")
    moved = {True: MeetingOutcome.RESCHEDULED, False: MeetingOutcome.SCHEDULED}
    assert {id_: (seen.meeting.starts_at, seen.meeting.outcome) for id_, seen in receiver.state.meetings.items()} == {
        row["id"]: (
            row["starts_at"],
            MeetingOutcome.CANCELLED if row["status"] == "CANCELLED" else moved[row["reschedule_count"] > 0],
        )
        for row in rows
    }
    assert (receiver.state.added, len(receiver.state.people)) == (BOOKINGS, BOOKINGS)
    for booking_id in receiver.state.meetings:
        changes = [each.changed_at for each in receiver.state.history if each.booking_id == booking_id]
        assert changes == sorted(changes)
    kept = await runtime.pool.fetch("select booking_id, meeting_id from crm_meetings")
    assert {row["booking_id"]: row["meeting_id"] for row in kept} == {
        booking_id: seen.id for booking_id, seen in receiver.state.meetings.items()
    }
