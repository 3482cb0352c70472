"""Numbers are connected, checked, given other tokens and disconnected; what is deleted here is deleted there."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from ipaddress import ip_network

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections import operations as connecting
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.accounts import find_host_number
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.connections.operations import NumberWanted
from openslot.domains.messaging.errors import MessagingNotConnected
from openslot.domains.messaging.jobs import MESSAGING_JOBS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.support import fake_gateway
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli, Run
from tests.support.fake_twilio import FakeAccount, FakeTwilio, serving

NUMBER = "+4930111222"


@pytest.fixture
async def twilio(clock: MovingClock) -> AsyncIterator[FakeTwilio]:
    async with serving(clock) as running:
        yield running


@pytest.fixture
def account(twilio: FakeTwilio) -> FakeAccount:
    return twilio.add_account()


@pytest.fixture
def settings(settings: Settings, twilio: FakeTwilio) -> Settings:
    return replace(settings, twilio_url=twilio.url, outbound_allow=Networks((ip_network("127.0.0.0/8"),)))


@pytest.fixture
def command_line(command_line: Run, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("OPENSLOT_TWILIO_URL", settings.twilio_url)
    return command_line


def wanted(account: FakeAccount, /, **other: object) -> NumberWanted:
    given = {"channel": ConnectionChannel.SMS, "number": NUMBER, "account": account.sid, "token": account.token}
    return NumberWanted(**{**given, **other})  # type: ignore[arg-type]


async def connect(runtime: Runtime, user: User, asked: NumberWanted) -> MessagingConnection:
    work = runtime.work(OPERATOR)
    checked = await connecting.check_number(work, user, asked)
    async with work.transaction():
        return await connecting.connect_messaging_number(work, user, checked)


async def test_a_number_is_connected_and_its_token_is_sealed(
    runtime: Runtime, user: User, account: FakeAccount
) -> None:
    made = await connect(runtime, user, wanted(account))

    row = await runtime.pool.fetchrow("select token, account_name, number from messaging_connections")
    assert row is not None
    assert account.token.encode() not in row["token"]
    assert runtime.secrets.open(row["token"]) == account.token
    assert (row["account_name"], row["number"]) == ("Praxis Lindqvist", NUMBER)
    assert await runtime.pool.fetchval("select type from events where subject_id = $1", made.id) == (
        "messaging_connection.connected"
    )


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"token": "f" * 32}, "token"),
        ({"account": "nonsense"}, "account"),
        ({"number": "+4930999888"}, "number"),
        ({"number": "030 111222"}, "number"),
    ],
)
async def test_what_can_not_be_used_is_refused_at_its_field(
    runtime: Runtime, user: User, account: FakeAccount, other: dict[str, str], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await connect(runtime, user, wanted(account, **other))

    assert list(refused.value.details or {}) == [field]
    assert account.token not in str(refused.value.details)
    assert await runtime.pool.fetchval("select count(*) from messaging_connections") == 0


async def test_another_token_replaces_the_first_which_still_verifies(
    runtime: Runtime, user: User, account: FakeAccount
) -> None:
    first = await connect(runtime, user, wanted(account))
    old, account.token = account.token, "e" * 32
    second = await connect(runtime, user, wanted(account))

    assert second.id == first.id
    assert second.token is not None
    assert second.second_token is not None
    assert runtime.secrets.open(second.token) == "e" * 32
    assert runtime.secrets.open(second.second_token) == old


async def test_another_number_takes_the_place_of_the_first(runtime: Runtime, user: User, account: FakeAccount) -> None:
    account.numbers["+4930111333"] = {"sms": True}
    first = await connect(runtime, user, wanted(account))
    second = await connect(runtime, user, wanted(account, number="+4930111333"))
    work = runtime.work(OPERATOR)

    assert [each.id for each in await connecting.list_number_connections(work, user)] == [second.id]
    with pytest.raises(MessagingNotConnected):
        await connecting.get_number_connection(work, user, first.id)
    ended = await connection_store.get(runtime.pool, first.id)
    assert (ended.token, ended.second_token) == (None, None)


async def test_a_number_is_its_owners_alone(runtime: Runtime, user: User, stranger: User, account: FakeAccount) -> None:
    made = await connect(runtime, user, wanted(account))
    work = runtime.work(OPERATOR)

    with pytest.raises(MessagingNotConnected):
        await connecting.get_number_connection(work, stranger, made.id)
    assert await find_host_number(work, stranger, ConnectionChannel.SMS) is None
    found = await find_host_number(work, user, ConnectionChannel.SMS)
    assert found is not None
    assert found.id == made.id


async def test_a_test_message_goes_to_the_given_phone(runtime: Runtime, user: User, account: FakeAccount) -> None:
    made = await connect(runtime, user, wanted(account))

    sent = await connecting.send_messaging_test(
        runtime.work(OPERATOR), made, recipient="+491701234567", name="Openslot"
    )

    (message,) = account.sent
    assert (message.sid, message.recipient, message.sender) == (sent.id, "+491701234567", NUMBER)
    account.opted_out.add("+491701234567")
    with pytest.raises(Invalid) as refused:
        await connecting.send_messaging_test(runtime.work(OPERATOR), made, recipient="+491701234567", name="Openslot")
    assert "has replied STOP" in (refused.value.details or {})["phone"]


async def test_a_number_whose_token_is_refused_is_told_once(runtime: Runtime, user: User, account: FakeAccount) -> None:
    made = await connect(runtime, user, wanted(account))
    account.token = "d" * 32
    check = next(job for job in MESSAGING_JOBS if job.name == "messaging.check_numbers")

    for _ in range(3):
        await run_job(runtime, check)
        await runtime.pool.execute("delete from periodic_runs")

    broken = "select count(*) from events where type = 'messaging_connection.broken'"
    assert await runtime.pool.fetchval(broken) == 1
    failing = await connection_store.list_failing_numbers(runtime.pool)
    assert [(each.id, each.last_error) for each in failing] == [(made.id, "messaging.refused")]


async def test_what_was_deleted_here_is_deleted_at_the_provider(
    runtime: Runtime, client: httpx2.AsyncClient, user: User, account: FakeAccount, twilio: FakeTwilio
) -> None:
    made = await connect(runtime, user, wanted(account))
    sent = await connecting.send_messaging_test(
        runtime.work(OPERATOR), made, recipient="+491701234567", name="Openslot"
    )
    account.move(account.messages[sent.id], "delivered")
    await runtime.pool.execute(
        """with thread as (
            insert into conversations (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
            values (gen_random_uuid(), $1, '+491701234567', 'sms', now(), now(), now()) returning id)
        insert into messages (id, conversation_id, content, direction, status, vendor_id, connection_id, at, created_at)
        select gen_random_uuid(), id, 'Hi', 'outbound', 'sent', $2, $3, now(), now() from thread""",
        user.id,
        sent.id,
        made.id,
    )
    erase = next(job for job in MESSAGING_JOBS if job.name == "messaging.erase")

    await runtime.pool.execute("delete from users where id = $1", user.id)
    await run_job(runtime, erase)

    assert sent.id not in account.messages
    assert await runtime.pool.fetchval("select count(*) from message_erasures") == 0


async def test_a_number_is_connected_listed_and_disconnected_by_command(
    cli: Cli, command_line: Run, runtime: Runtime, user: User, account: FakeAccount
) -> None:
    account.token = "c" * 32
    options = ("--account", account.sid, "--number", NUMBER, "--channel", "sms", "--token-stdin", "--json")

    made = await asyncio.to_thread(
        cli, "messaging", "connect", "--user", user.email, *options, typed=f"{account.token}\n"
    )
    listed = await asyncio.to_thread(cli, "messaging", "list", "--json")
    gone = await asyncio.to_thread(cli, "messaging", "disconnect", made["id"], "--yes", "--json")

    base = f"{runtime.settings.public_url}/api/notices/twilio/{made['id']}"
    assert made["noticeUrls"] == {"messages": f"{base}/messages", "status": f"{base}/status"}
    assert [(each["number"], each["canCancel"]) for each in listed["numbers"]] == [(NUMBER, False)]
    assert account.token not in str(listed) + str(made)
    assert gone["disconnected"] == made["id"]
    assert await connecting.list_number_connections(runtime.work(OPERATOR), user) == []


async def test_cancelling_by_message_is_allowed_by_command_and_stays_with_a_new_token(
    cli: Cli, command_line: Run, runtime: Runtime, user: User, account: FakeAccount
) -> None:
    account.token = "c" * 32
    options = ("--user", user.email, "--account", account.sid, "--number", NUMBER, "--token-stdin", "--json")

    async def run(*more: str) -> dict[str, object]:
        typed = f"{account.token}\n"
        return await asyncio.to_thread(cli, "messaging", "connect", *options, *more, typed=typed)

    found = [(await run("--channel", "sms", *more))["canCancel"] for more in ((), ("--allow-cancel",), ())]
    assert found == [False, True, True]
    assert (await run("--channel", "sms", "--no-allow-cancel"))["canCancel"] is False


async def test_numbers_for_calls_are_connected_by_command(
    cli: Cli, command_line: Run, runtime: Runtime, user: User, account: FakeAccount
) -> None:
    account.token = "c" * 32
    options = ("--user", user.email, "--number", NUMBER, "--channel", "voice", "--token-stdin", "--json")
    twilio = ("--account", account.sid)
    made = await asyncio.to_thread(cli, "messaging", "connect", *options, *twilio, typed=f"{account.token}\n")
    async with fake_gateway.serving(lambda: datetime.now(UTC)) as agent:
        agent.number = NUMBER
        gateway = ("--provider", "gateway", "--account", agent.url)
        agents = await asyncio.to_thread(cli, "messaging", "connect", *options, *gateway, typed=f"{agent.secret}\n")
        asked = [json.loads(each.body)["data"] for each in agent.asked]

    base = f"{runtime.settings.public_url}/api/notices"
    assert made["noticeUrls"] == {"calls": f"{base}/twilio/{made['id']}/calls"}
    assert agents["noticeUrls"] == {"all": f"{base}/calls/{agents['id']}"}
    assert asked == [{"channel": "voice", "number": NUMBER}]
