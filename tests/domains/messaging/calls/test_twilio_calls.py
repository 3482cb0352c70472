"""Twilio's notices of calls: verified, each counted once, by rank and not by arrival."""

import asyncio
from datetime import timedelta
from random import Random

import httpx2
import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.messaging.calls import operations as calls
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.jobs import tidy
from openslot.domains.messaging.models import RecordingNotice
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime, Work
from openslot.vendors.twilio.notices import read_call
from tests.domains.messaging.calls.support import call_form, read_calls, recording_form
from tests.support.clocks import MovingClock
from tests.support.messaging import ACCOUNT, NUMBER, PHONE, insert_number, notify, sid


async def tell(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection, *forms: dict[str, str]
) -> list[int]:
    return [(await notify(client, runtime, number, form, about="calls")).status_code for form in forms]


async def test_a_call_that_is_over_is_in_the_log(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    form = call_form(runtime, "completed", 3, CallDuration="42")
    answer = await notify(client, runtime, number, form, about="calls")

    assert (answer.status_code, answer.content) == (204, b"")
    (call,) = await read_calls(runtime)
    now = runtime.clock().replace(microsecond=0)
    assert (call["owner_id"], call["caller_phone"], call["connection_id"]) == (user.id, PHONE, number.id)
    assert (call["direction"], call["status"], call["agent_name"]) == ("inbound", "completed", "")
    assert (call["started_at"], call["ended_at"], call["duration_seconds"]) == (now - timedelta(seconds=42), now, 42)


@pytest.mark.parametrize(
    ("told", "kept"), [("busy", "no_answer"), ("no-answer", "no_answer"), ("canceled", "failed"), ("failed", "failed")]
)
async def test_how_a_call_ended_is_said_in_three_words(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection, told: str, kept: str
) -> None:
    form = call_form(runtime, told, From=NUMBER, To=PHONE, Direction="outbound-api")
    assert await tell(client, runtime, number, form) == [204]

    (call,) = await read_calls(runtime)
    assert (call["status"], call["direction"], call["caller_phone"]) == (kept, "outbound", PHONE)
    assert call["duration_seconds"] == 0


async def test_a_call_that_is_not_over_is_not_listed(
    client: httpx2.AsyncClient, member: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    forms = [call_form(runtime, status, n) for n, status in enumerate(("initiated", "ringing", "in-progress"))]
    assert await tell(client, runtime, number, *forms) == [204, 204, 204]

    assert [call["status"] for call in await read_calls(runtime)] == [None]
    assert "There are no calls yet." in (await member.get("/calls")).text


async def test_the_order_of_notices_does_not_matter_and_repeats_change_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, number: MessagingConnection
) -> None:
    forms = []
    for sequence, status in enumerate(("initiated", "ringing", "in-progress", "completed")):
        forms.append(call_form(runtime, status, sequence, CallDuration="6" if status == "completed" else ""))
        clock.pass_time(seconds=3)
    forms.append(recording_form())
    logs = []
    for seed in range(8):
        drawn = [*forms, *forms]
        Random(seed).shuffle(drawn)
        assert set(await tell(client, runtime, number, *drawn)) == {204}
        (call,) = await read_calls(runtime)
        logs.append({name: value for name, value in call.items() if name not in {"id", "created_at", "updated_at"}})
        assert await runtime.pool.fetchval("select count(*) from call_recordings") == 0
        await runtime.pool.execute("delete from calls; delete from call_notices; delete from message_erasures")

    assert all(log == logs[0] for log in logs)
    assert (logs[0]["status"], logs[0]["duration_seconds"]) == ("completed", 6)
    assert logs[0]["recording"] == f"Recordings/{sid(1, 'RE')}"


async def test_notices_that_race_leave_one_call_with_its_recording(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    forms = [call_form(runtime, "in-progress", 1), call_form(runtime, "completed", 2, CallDuration="5")]
    drawn = [*forms, recording_form()] * 4
    answers = await asyncio.gather(*(notify(client, runtime, number, form, about="calls") for form in drawn))

    assert {answer.status_code for answer in answers} == {204}
    (call,) = await read_calls(runtime)
    assert (call["status"], call["recording"]) == ("completed", f"Recordings/{sid(1, 'RE')}")
    assert await runtime.pool.fetchval("select count(*) from call_recordings") == 0
    assert await runtime.pool.fetchval("select count(*) from call_notices") == 2


@pytest.mark.parametrize("is_recording_first", [True, False])
async def test_a_recording_finds_its_call_also_if_both_are_told_at_once(
    runtime: Runtime, number: MessagingConnection, *, is_recording_first: bool
) -> None:
    ended = read_call(call_form(runtime, "completed", CallDuration="5"))
    told = RecordingNotice(call_id=ended.id, ref="Recordings/RE1")

    async def receive(work: Work, *, recording: bool) -> None:
        if recording:
            await calls.receive_recording(work, number, told)
        else:
            await calls.receive_call(work, number, ended)

    async def receive_second() -> None:
        async with runtime.transaction(SYSTEM) as work:
            await receive(work, recording=not is_recording_first)

    async with runtime.transaction(SYSTEM) as work:
        await receive(work, recording=is_recording_first)
        second = asyncio.create_task(receive_second())
        await asyncio.sleep(0.3)
        assert not second.done()
    await second

    assert [call["recording"] for call in await read_calls(runtime)] == ["Recordings/RE1"]
    assert await runtime.pool.fetchval("select count(*) from call_recordings") == 0


async def test_a_recording_is_sealed_and_only_one_that_is_ready_counts(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    waits = [recording_form(status=status, recording=9) for status in ("in-progress", "absent", "failed")]
    assert await tell(client, runtime, number, *waits, recording_form()) == [204] * 4
    assert sid(1, "RE").encode() not in await runtime.pool.fetchval("select ref from call_recordings")

    form = call_form(runtime, "completed", 3, CallDuration="42")
    await tell(client, runtime, number, form, recording_form(recording=2))

    (call,) = await read_calls(runtime)
    assert call["recording"] == f"Recordings/{sid(1, 'RE')}"
    assert sid(1, "RE").encode() not in await runtime.pool.fetchval("select recording from calls")


async def test_forged_and_foreign_notices_are_refused_without_detail(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, number: MessagingConnection
) -> None:
    form = call_form(runtime, "completed", CallDuration="42")
    old = call_form(runtime, "completed", CallDuration="42")
    path = f"/api/notices/twilio/{number.id}/calls"
    refused = [
        await notify(client, runtime, number, form, about="calls", token="f" * 32),
        await notify(client, runtime, number, {**form, "AccountSid": "AC" + "1" * 32}, about="calls"),
        await notify(client, runtime, number, {**form, "To": "+493099999999"}, about="calls"),
        await notify(client, runtime, number, {**form, "Direction": "outbound-api"}, about="calls"),
        await notify(client, runtime, number, {**form, "CallSid": "CA1"}, about="calls"),
        await notify(client, runtime, number, {**form, "CallStatus": "sleeping"}, about="calls"),
        await notify(client, runtime, number, {**recording_form(), "RecordingSid": "../x"}, about="calls"),
        await client.post(path, data=form),
    ]
    clock.now += timedelta(days=31)
    refused.append(await notify(client, runtime, number, old, about="calls"))

    assert {each.status_code for each in refused} == {403}
    assert {each.text for each in refused} == {'{"error":"The notice is not valid"}'}
    assert await read_calls(runtime) == []
    for table in ("call_notices", "call_recordings"):
        assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0


async def test_a_notice_that_was_deleted_with_its_call_is_not_believed_again(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    form = call_form(runtime, "completed", 3, CallDuration="42")
    await tell(client, runtime, number, form)
    await runtime.pool.execute("delete from calls")

    assert await tell(client, runtime, number, form) == [204]
    assert await read_calls(runtime) == []


@pytest.mark.parametrize("caller", ["anonymous", "+266696687", "client:alice", "sip:a@b.example", ""])
async def test_callers_without_a_number_are_left_out(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection, caller: str
) -> None:
    form = call_form(runtime, "completed", CallDuration="42", From=caller)

    assert await tell(client, runtime, number, form) == [204]
    assert await read_calls(runtime) == []


async def test_the_second_leg_of_a_forwarded_call_is_no_call_of_its_own(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    leg = call_form(
        runtime, "completed", number=2, ParentCallSid=sid(1, "CA"), Direction="outbound-dial", To="+493044444444"
    )
    whole = call_form(runtime, "completed", CallDuration="42")

    assert await tell(client, runtime, number, leg, whole) == [204, 204]
    assert [call["vendor_id"] for call in await read_calls(runtime)] == [sid(1, "CA")]


async def test_an_organizations_call_goes_to_who_writes_with_the_caller(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        harbor = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, harbor, user, role=Role.OWNER)
        await add_organization_member(work, harbor, stranger, role=Role.MEMBER)
    number = await insert_number(runtime, organization_id=harbor.id, channel=ConnectionChannel.VOICE)
    texts = await insert_number(runtime, organization_id=harbor.id)

    async def owner_of(call: int) -> object:
        form = call_form(runtime, "completed", number=call, CallDuration="1")
        assert await tell(client, runtime, number, form) == [204]
        return await runtime.pool.fetchval("select owner_id from calls where vendor_id = $1", sid(call, "CA"))

    assert await owner_of(1) == user.id
    await runtime.pool.execute("update messaging_connections set default_host_id = $1", stranger.id)
    assert await owner_of(2) == stranger.id
    await runtime.pool.execute(
        """with thread as (
            insert into conversations (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
            values (gen_random_uuid(), $1, $2, 'sms', now(), now(), now()) returning id)
        insert into messages (id, conversation_id, content, direction, status, connection_id, at, created_at)
        select gen_random_uuid(), id, 'Hi', 'inbound', 'received', $3, now(), now() from thread""",
        user.id,
        PHONE,
        texts.id,
    )
    assert await owner_of(3) == user.id


async def test_notices_are_forgotten_after_a_month(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, number: MessagingConnection
) -> None:
    await tell(client, runtime, number, call_form(runtime, "completed", CallDuration="1"), recording_form(2))
    clock.now += timedelta(days=29)
    kept = await tidy(runtime.work(SYSTEM))
    clock.now += timedelta(days=2)
    gone = await tidy(runtime.work(SYSTEM))

    assert kept == "0 notices and 0 recordings without a call deleted"
    assert gone == "1 notices and 1 recordings without a call deleted"
    assert len(await read_calls(runtime)) == 1


async def test_with_an_account_recordings_and_transcripts_are_deleted_at_the_provider(
    runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    sealed = [runtime.secrets.seal(text) for text in ("recording", "transcript")]
    await runtime.pool.execute(
        """insert into calls (id, owner_id, direction, caller_phone, agent_name, started_at, created_at, updated_at,
            vendor_id, connection_id, recording, transcript)
        values (gen_random_uuid(), $1, 'inbound', $2, '', now(), now(), now(), 'CA1', $3, $4, $5)""",
        user.id,
        PHONE,
        number.id,
        *sealed,
    )
    async with runtime.transaction(SYSTEM) as work:
        await calls.receive_recording(work, number, RecordingNotice(call_id="CA2", ref="waits"))
    await runtime.pool.execute("delete from users where id = $1", user.id)

    rows = await runtime.pool.fetch("select account, ref from message_erasures")
    assert {runtime.secrets.open(row["ref"]) for row in rows} == {"recording", "transcript", "waits"}
    assert {row["account"] for row in rows} == {ACCOUNT}
