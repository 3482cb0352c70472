"""Threads and calls of the demo's host."""

from datetime import timedelta

from openslot.accounts.models import User
from openslot.calls import operations as calls
from openslot.calls.models import CallDirection, CallStatus, Ending
from openslot.conversations import operations as conversations
from openslot.conversations.models import Channel, MessageDirection
from openslot.core.work import Work
from openslot.demo.meetings import GUESTS

IN, OUT = MessageDirection.INBOUND, MessageDirection.OUTBOUND
THREADS = (
    (Channel.SMS, ((IN, "Can we start ten minutes later?"), (OUT, "Of course, see you then."), (IN, "Thanks"))),
    (Channel.WHATSAPP, ((OUT, "Reminder: Intro call tomorrow at 10:00."), (IN, "I will be there"))),
    (Channel.SMS, ((IN, "Where do I park?"), (OUT, "Behind the studio, the green gate."))),
)
CALLS = (
    (CallDirection.INBOUND, CallStatus.COMPLETED, 184),
    (CallDirection.INBOUND, CallStatus.NO_ANSWER, 0),
    (CallDirection.OUTBOUND, CallStatus.COMPLETED, 61),
    (CallDirection.INBOUND, CallStatus.FAILED, 0),
)


async def make_talks(work: Work, host: User) -> None:
    """Make threads and calls, once: every message and call has an id of its own."""
    for guest, (channel, messages) in zip(GUESTS, THREADS, strict=False):
        for n, (direction, content) in enumerate(messages):
            await conversations.record_message(
                work,
                owner_id=host.id,
                phone=guest.phone,
                channel=channel,
                direction=direction,
                content=content,
                at=work.now - timedelta(days=2, minutes=30 - n * 5),
                vendor_id=f"demo-{guest.email}-{n}",
            )
    for guest, (way, status, seconds) in zip(GUESTS, CALLS, strict=False):
        started_at = work.now - timedelta(days=3, hours=len(guest.name))
        await calls.record_call(
            work,
            owner_id=host.id,
            direction=way,
            phone=guest.phone,
            agent_name="Harbor front desk",
            started_at=started_at,
            vendor_id=f"demo-{guest.email}",
            ending=Ending(status=status, ended_at=started_at + timedelta(seconds=seconds), duration_seconds=seconds),
        )
