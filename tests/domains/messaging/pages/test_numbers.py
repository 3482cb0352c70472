"""The pages that connect numbers: faults at their fields, no token shown, nobody else's number, a question at last."""

from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import Organization, User
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection, OptOutSource
from openslot.domains.messaging.store import opt_out
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.flags.switches.operations import stop_messaging
from tests.domains.messaging.pages.conftest import NUMBER
from tests.support.fake_twilio import FakeAccount, FakeTwilio
from tests.support.forms import NOBODY
from tests.support.messaging import insert_number
from tests.support.page import read_page

HERE = "/settings/messages"
PHONE = "+491701234567"
SECRET = {"token": "whsec_" + "A" * 32}


def form(account: FakeAccount, /, **other: str) -> dict[str, str]:
    given = {"provider": "twilio", "channel": "sms", "number": NUMBER, "token": account.token}
    return {**given, "provider_account": account.sid, **other}


async def test_a_host_connects_a_number_and_copies_the_addresses(
    member: httpx2.AsyncClient, runtime: Runtime, account: FakeAccount
) -> None:
    made = await member.post(HERE, data=form(account, number="+49 30 111222", token=f" {account.token} "))

    connection_id = await runtime.pool.fetchval("select id from messaging_connections")
    assert (made.status_code, made.headers["location"]) == (303, f"{HERE}/{connection_id}?done=connected")
    shown = await member.get(made.headers["location"])
    base = f"{runtime.settings.public_url}/api/notices/twilio/{connection_id}"
    for text in ("The number is connected.", NUMBER, "Praxis Lindqvist", f"{base}/messages", f"{base}/status"):
        assert text in read_page(shown).text
    assert 'data-copy="url-messages"' in shown.text
    assert account.token not in shown.text
    listed = await member.get(HERE)
    assert NUMBER in read_page(listed).text


@pytest.mark.parametrize(
    ("other", "field", "words"),
    [
        ({"token": "f" * 32}, "token", "Was refused"),
        ({"token": ""}, "token", "Paste the token"),
        ({"provider_account": ""}, "provider_account", "Enter the account"),
        ({"number": "+4930999888"}, "number", "Is not a number of this account"),
        ({"number": "030 111222"}, "number", "Must begin with +"),
        ({"provider": "carrier-pigeon"}, "provider", ""),
        ({"channel": "fax"}, "channel", ""),
        ({"provider_account": "AC12"}, "provider_account", "Must be an account SID"),
        ({"provider_account": "AC" + "G" * 32}, "provider_account", "Must be an account SID"),
        (
            {"provider": "gateway", **SECRET, "provider_account": "http://10.0.0.1/"},
            "provider_account",
            "Must be the public",
        ),
        ({"provider": "gateway", **SECRET, "provider_account": "gateway"}, "provider_account", "Must be the public"),
        ({"provider": "gateway", "provider_account": "https://127.0.0.1/"}, "token", "Was refused"),
    ],
)
async def test_what_is_wrong_is_said_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, account: FakeAccount, other: dict[str, str], field: str, words: str
) -> None:
    refused = await member.post(HERE, data=form(account, **other))

    assert refused.status_code == 400
    faults = read_page(refused).faults
    assert list(faults) == [field]
    assert words in faults[field]
    assert account.token not in refused.text
    assert await runtime.pool.fetchval("select count(*) from messaging_connections") == 0


async def test_a_provider_that_is_down_is_said(
    member: httpx2.AsyncClient, account: FakeAccount, twilio: FakeTwilio
) -> None:
    twilio.is_down = True
    refused = await member.post(HERE, data=form(account))

    assert "Could not be checked (The provider can't be reached)" in read_page(refused).faults["provider_account"]


async def test_a_broken_number_says_why_and_a_new_token_mends_it(
    member: httpx2.AsyncClient, runtime: Runtime, account: FakeAccount, number: MessagingConnection
) -> None:
    why = "The provider refuses the account or its token"
    await runtime.pool.execute("update messaging_connections set last_error = $1, failing_since = now()", why)
    page = f"{HERE}/{number.id}"
    assert why in read_page(await member.get(page)).text
    assert "Can't be used" in read_page(await member.get(HERE)).text
    account.token = "e" * 32

    wrong = await member.post(f"{page}/token", data={"token": "d" * 32})
    assert list(read_page(wrong).faults) == ["token"]
    mended = await member.post(f"{page}/token", data={"token": account.token})

    assert mended.headers["location"] == f"{page}?done=replaced"
    shown = await member.get(page)
    assert why not in shown.text
    assert account.token not in shown.text
    token = await runtime.pool.fetchval("select token from messaging_connections")
    assert runtime.secrets.open(token) == account.token


async def test_a_token_of_an_account_that_lost_the_number_is_said_at_the_token(
    member: httpx2.AsyncClient, account: FakeAccount, number: MessagingConnection
) -> None:
    account.numbers.clear()
    refused = await member.post(f"{HERE}/{number.id}/token", data={"token": account.token})

    assert read_page(refused).faults == {"token": "Is not a number of this account"}


async def test_a_test_message_goes_to_the_phone_that_was_typed(
    member: httpx2.AsyncClient, account: FakeAccount, number: MessagingConnection
) -> None:
    page = f"{HERE}/{number.id}"
    sent = await member.post(f"{page}/test", data={"phone": "+49 170 1234567"})

    assert sent.headers["location"] == f"{page}?done=tested"
    assert [(each.sender, each.recipient) for each in account.sent] == [(NUMBER, PHONE)]
    for typed in ("", "0170 1234567", "evil@example.com"):
        wrong = await member.post(f"{page}/test", data={"phone": typed})
        assert list(read_page(wrong).faults) == ["phone"]
    assert len(account.sent) == 1


async def test_a_test_message_respects_stop_and_the_kill_switch(
    member: httpx2.AsyncClient, runtime: Runtime, account: FakeAccount, number: MessagingConnection
) -> None:
    page = f"{HERE}/{number.id}"
    now = runtime.clock()
    await opt_out(runtime.pool, number, PHONE, source=OptOutSource.MESSAGE, vendor_id=None, now=now)
    refused = await member.post(f"{page}/test", data={"phone": PHONE})
    assert "has replied STOP" in read_page(refused).faults["phone"]
    async with runtime.transaction(OPERATOR) as work:
        await stop_messaging(work, "sms", reason="A loop")
    stopped = await member.post(f"{page}/test", data={"phone": "+491701234568"})

    assert "an administrator has stopped messages" in read_page(stopped).faults["phone"]
    assert account.sent == []


async def test_cancelling_by_message_is_off_until_the_owner_switches_it_on(
    member: httpx2.AsyncClient, runtime: Runtime, account: FakeAccount, number: MessagingConnection
) -> None:
    page, chosen = f"{HERE}/{number.id}", "select can_cancel from messaging_connections"
    shown = await member.get(page)
    assert "The sender of a message can be forged" in read_page(shown).text
    assert 'name="can_cancel" aria-describedby="hint-can_cancel">' in shown.text

    saved = await member.post(f"{page}/cancelling", data={"can_cancel": "on"})
    assert saved.headers["location"] == f"{page}?done=saved"
    assert await runtime.pool.fetchval(chosen)
    assert 'name="can_cancel" checked' in (await member.get(page)).text
    await member.post(f"{page}/token", data={"token": account.token})
    assert await runtime.pool.fetchval(chosen)

    await member.post(f"{page}/cancelling", data={})
    assert not await runtime.pool.fetchval(chosen)


async def test_a_number_for_calls_sends_no_test_message(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, account: FakeAccount
) -> None:
    voice = await insert_number(runtime, user_id=user.id, channel=ConnectionChannel.VOICE, account=account.sid)
    shown = await member.get(f"{HERE}/{voice.id}")

    assert f"/api/notices/twilio/{voice.id}/calls" in shown.text
    assert "Test message" not in shown.text
    assert (await member.post(f"{HERE}/{voice.id}/test", data={"phone": PHONE})).status_code == 404
    assert "Cancel by message" not in shown.text
    assert (await member.post(f"{HERE}/{voice.id}/cancelling", data={"can_cancel": "on"})).status_code == 400
    assert not await runtime.pool.fetchval("select can_cancel from messaging_connections")


async def test_disconnecting_asks_first_and_says_what_stays(
    member: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    page = f"{HERE}/{number.id}"
    asked = read_page(await member.get(f"{page}/disconnect")).text
    assert "Conversations and calls stay here." in asked
    live = "select count(*) from messaging_connections where token is not null"
    assert await runtime.pool.fetchval(live) == 1
    ended = await member.post(f"{page}/disconnect")

    assert ended.headers["location"] == f"{HERE}?done=disconnected"
    assert await runtime.pool.fetchval(live) == 0
    assert (await member.get(page)).status_code == 404
    assert (await member.post(f"{page}/disconnect")).status_code == 404


@pytest.mark.parametrize(("address", "is_said"), [("https://book.example.com", False), (None, True)])
async def test_it_is_said_when_notices_can_not_arrive(
    member: httpx2.AsyncClient, number: MessagingConnection, address: str | None, *, is_said: bool
) -> None:
    if not is_said:
        member.headers["cookie"] = f"__Host-{member.headers['cookie']}"
    for page in (HERE, f"{HERE}/{number.id}"):
        shown = await member.get(page)
        assert shown.status_code == 200
        assert ("Notices from the provider can't arrive here" in read_page(shown).text) == is_said


async def test_nobody_sees_or_changes_the_number_of_somebody_else(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, harbor: Organization, account: FakeAccount
) -> None:
    theirs = await insert_number(runtime, user_id=stranger.id, account=account.sid, token=account.token, number=NUMBER)
    before = await runtime.pool.fetchrow("select * from messaging_connections")
    chosen: dict[str, Any] = {"organization": str(harbor.id), "host": "", "token": account.token}
    chosen |= {"phone": PHONE, "can_cancel": "on"}
    for base in (HERE, "/organization/messages"):
        assert NUMBER not in (await member.get(base)).text
        for place in (theirs.id, NOBODY):
            answers = [await member.get(f"{base}/{place}"), await member.get(f"{base}/{place}/disconnect")]
            acts = ("token", "test", "cancelling", "disconnect", *(["host"] if base != HERE else []))
            answers += [await member.post(f"{base}/{place}/{act}", data=chosen) for act in acts]
            assert {each.status_code for each in answers} == {404}, (base, place)
    assert account.sent == []
    assert await runtime.pool.fetchrow("select * from messaging_connections") == before


async def test_a_number_for_calls_shows_its_address_and_must_be_for_calls(
    member: httpx2.AsyncClient, runtime: Runtime, account: FakeAccount
) -> None:
    account.numbers[NUMBER]["voice"] = False
    refused = await member.post(HERE, data=form(account, channel="voice"))
    account.numbers[NUMBER]["voice"] = True
    made = await member.post(HERE, data=form(account, channel="voice"))
    shown = read_page(await member.get(made.headers["location"])).text
    connection_id = await runtime.pool.fetchval("select id from messaging_connections")
    asked = read_page(await member.get(f"{HERE}/{connection_id}/disconnect")).text

    assert read_page(refused).faults == {"number": "Can't be used for this channel"}
    assert f"{runtime.settings.public_url}/api/notices/twilio/{connection_id}/calls" in shown
    assert "If you record calls, enter it as the recording status callback too." in shown
    assert "Send a test message" not in shown
    assert "Recordings and transcripts can't be fetched from the provider any more." in asked


async def test_a_template_for_reminders_is_for_whatsapp_alone(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    whatsapp = await insert_number(runtime, user_id=user.id, channel=ConnectionChannel.WHATSAPP)
    template = "HX" + "0a" * 16
    assert "template" not in read_page(await member.get(f"{HERE}/{number.id}")).fields
    for wrong in ("HX1", "MG" + "0a" * 16, template + "0"):
        refused = await member.post(f"{HERE}/{whatsapp.id}/template", data={"template": wrong})
        assert "begins with HX" in read_page(refused).faults["template"]
    saved = await member.post(f"{HERE}/{whatsapp.id}/template", data={"template": f" {template} "})

    assert saved.headers["location"] == f"{HERE}/{whatsapp.id}?done=saved"
    assert read_page(await member.get(saved.headers["location"])).fields["template"].value == template
    await member.post(f"{HERE}/{whatsapp.id}/template", data={"template": ""})
    assert await runtime.pool.fetchval("select template from messaging_connections where id = $1", whatsapp.id) is None
    refused = await member.post(f"{HERE}/{number.id}/template", data={"template": template})
    assert refused.status_code == 400
