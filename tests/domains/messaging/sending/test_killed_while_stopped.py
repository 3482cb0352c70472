"""SMS is stopped while 200 replies are due, workers are killed, and it is resumed: each goes out once, in order."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.messaging import store
from openslot.domains.messaging.connections.models import MessagingConnection, OptOutSource
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock, Runtime, system_clock
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches import operations as switches
from openslot.runtime import open_runtime
from tests.domains.messaging.sending import message_worker
from tests.domains.messaging.sending.support import hear, reply
from tests.support.fake_twilio import FakeAccount, serving
from tests.support.forked import Forked
from tests.support.messaging import insert_number
from tests.support.worker_process import end, start_and_wait, stop_kill_and_resume

pytestmark = [pytest.mark.own_database, pytest.mark.rest("kills a worker: one test in make test does")]

THREADS, REPLIES = 40, 5
OF_STRANGER, OPTING_OUT = range(10), range(35, 40)
NUMBERS = ("+4930111222", "+4930111333")
UNFINISHED = "select count(*) from messages where status in ('queued', 'sending')"
MESSAGES = "select id, content, status, vendor_id, error from messages where direction = 'outbound' order by at, id"


@pytest.fixture
def clock() -> Clock:
    """The clock of the workers."""
    return system_clock


@pytest.fixture
async def runtime(settings: Settings, clock: Clock) -> AsyncIterator[Runtime]:
    """With no provider in memory: the workers are processes of their own."""
    async with open_runtime(settings, clock=clock) as opened:
        yield opened


def phone_of(thread: int) -> str:
    return f"+49151123456{thread:02}"


async def write_replies(runtime: Runtime, user: User, stranger: User) -> None:
    """Let two hosts reply in many threads, some times in each."""
    runtime.settings = replace(runtime.settings, limit_messages=1000)
    for thread in range(THREADS):
        host = stranger if thread in OF_STRANGER else user
        conversation_id = await hear(runtime, host, phone=phone_of(thread))
        for number in range(REPLIES):
            await reply(runtime, host, conversation_id, f"{thread}:{number}")


async def opt_out(runtime: Runtime, number: MessagingConnection) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for phone in map(phone_of, OPTING_OUT):
            await store.opt_out(work.db, number, phone, source=OptOutSource.MESSAGE, vendor_id=None, now=work.now)


async def check(runtime: Runtime, account: FakeAccount) -> None:
    """Check that each reply went out once, or was dropped for a reason that is listed, in the order of its thread."""
    rows = await runtime.pool.fetch(MESSAGES)
    sent = Counter(each.body for each in account.sent)
    assert len(rows) == THREADS * REPLIES
    dropped = {row["id"]: row["error"] for row in rows if row["status"] == "canceled"}
    for row in rows:
        # Where a worker died before it had asked, nobody knows, and it is not sent again.
        allowed = {"sent": {1}, "delivered": {1}, "canceled": {0}, "unknown": {0, 1}}
        assert sent[row["content"]] in allowed[row["status"]], dict(row)
    assert {row["status"] for row in rows} >= {"sent", "canceled"}
    assert sum(row["status"] == "unknown" for row in rows) < 5
    assert set(dropped.values()) == {"opted_out", "host_left"}
    listed = {each.id: each.reason for each in await switches.list_dropped(runtime.work(OPERATOR))}
    assert listed == dropped
    for thread in range(THREADS):
        bodies = [each.body for each in account.sent if each.recipient == phone_of(thread)]
        assert bodies == sorted(bodies, key=lambda body: int(body.partition(":")[2])), thread


async def test_each_of_200_replies_goes_out_once_or_is_dropped_for_a_reason(
    settings: Settings, runtime: Runtime, user: User, stranger: User
) -> None:
    async with serving(system_clock) as twilio:
        account = twilio.add_account()
        account.numbers |= {number: {"sms": True} for number in NUMBERS}
        own, _ = [
            await insert_number(runtime, user_id=host.id, account=account.sid, token=account.token, number=number)
            for host, number in zip((user, stranger), NUMBERS, strict=True)
        ]
        await write_replies(runtime, user, stranger)

        def start() -> Forked:
            return Forked(message_worker.run, settings.database_url or "", str(settings.data_dir), twilio.url)

        async def count_sent() -> int:
            return len(account.sent)

        async def count_unfinished() -> int:
            return int(await runtime.pool.fetchval(UNFINISHED))

        async def disable() -> None:
            async with runtime.transaction(OPERATOR) as work:
                await people.disable_user(work, stranger)

        # One worker dies in the middle of its work, before anything is stopped.
        end(await start_and_wait(start, count_sent, 20))
        held = await stop_kill_and_resume(
            runtime,
            OutgoingChannel.SMS,
            start=start,
            count_sent=count_sent,
            count_unfinished=count_unfinished,
            when_stopped=lambda: opt_out(runtime, own),
            before_resuming=disable,
        )

        assert THREADS * REPLIES > held > THREADS
        await check(runtime, account)
