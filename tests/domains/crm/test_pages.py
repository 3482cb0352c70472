"""A host connects a CRM on a page, sees whether it works, and disconnects it."""

import asyncio
import re
from typing import Any

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.crm import operations
from openslot.domains.crm.models import CrmConnection, MeetingOutcome
from openslot.domains.crm.ports import CrmRefused
from openslot.domains.webhooks.rules import PREFIX, new_secret
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli
from tests.support.effects import work_off
from tests.support.fake_crm import FakeCrm, receiving_crm
from tests.support.host import Book, member, open_session

__all__ = ["member"]

HERE = "/settings/crm"


async def connect_webhook(member: httpx2.AsyncClient, url: str) -> str:
    """Connect a receiver, and return the secret that the page shows."""
    answer = await member.post(f"{HERE}/connect/webhook", data={"account_url": url})
    assert answer.status_code == 200, answer.text
    found = re.search(rf"{PREFIX}[A-Za-z0-9+/=]+", answer.text)
    assert found is not None
    return found[0]


async def test_a_receiver_is_connected_and_its_secret_is_shown_once(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    async with receiving_crm() as receiver:
        receiver.secret = await connect_webhook(member, receiver.url)
        (connection,) = await operations.list_connections(runtime.work(OPERATOR), user)
        assert receiver.secret not in (await member.get(HERE)).text

        answer = await member.post(f"{HERE}/{connection.id}/test")
        assert answer.headers["location"] == f"{HERE}?done=tested"
        shown = (await member.get(f"{HERE}?done=tested")).text
        assert "The CRM works." in shown
        assert "Sales (127.0.0.1)" in shown
        booking = await book()
        await work_off(runtime, clock)

        assert receiver.state.meetings[booking.id].meeting.outcome is MeetingOutcome.SCHEDULED
        keys = [request.headers["idempotency-key"] for request in receiver.asked[1:]]
        effect_id = await runtime.pool.fetchval("select id from effects where reaction = 'crm.write'")
        assert keys == [f"{effect_id}.person", f"{effect_id}.meeting"]
        assert "CRM “Sales (127.0.0.1)”" in (await member.get(f"/bookings/{booking.id}")).text


async def test_a_receiver_that_refuses_the_signature_needs_to_be_connected_again(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with receiving_crm() as receiver:
        await connect_webhook(member, receiver.url)
        receiver.is_revoked = True
        (connection,) = await operations.list_connections(runtime.work(OPERATOR), user)
        await member.post(f"{HERE}/{connection.id}/test")
        shown = (await member.get(HERE)).text
        assert "Needs to be connected again" in shown
        assert "The CRM no longer accepts the connection" in shown
        assert "The CRM “127.0.0.1” can&#39;t be updated" in (await member.get("/")).text

        receiver.is_revoked = False
        receiver.secret = await connect_webhook(member, receiver.url)
        assert "Needs to be connected again" not in (await member.get(HERE)).text


@pytest.mark.parametrize(
    ("vendor", "fields", "fault"),
    [
        ("webhook", {"account_url": "https://10.0.0.1/"}, "fault-account_url"),
        ("webhook", {}, "fault-account_url"),
        ("hubspot", {"secret": "not a token"}, "fault-secret"),
    ],
)
async def test_a_fault_is_shown_at_its_field(
    member: httpx2.AsyncClient, vendor: str, fields: dict[str, str], fault: str
) -> None:
    answer = await member.post(f"{HERE}/connect/{vendor}", data=fields)

    assert answer.status_code == 400
    assert fault in answer.text
    assert "not a token" not in answer.text


async def test_what_the_crm_has_refused_is_on_its_page_and_on_the_bookings(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    connection: CrmConnection,
    crm: FakeCrm,
    book: Book,
) -> None:
    booking = await book()
    crm.faults.append(CrmRefused("Property deal_stage is required"))
    await work_off(runtime, clock)

    for path in (HERE, f"/bookings/{booking.id}"):
        assert "Property deal_stage is required" in (await member.get(path)).text, path


async def test_a_crm_is_disconnected_by_its_owner_alone(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, connection: CrmConnection
) -> None:
    theirs = await open_session(runtime, stranger)
    for path in ("disconnect", "test"):
        assert (await member.post(f"{HERE}/{connection.id}/{path}", headers=theirs)).status_code == 404

    assert connection.label in (await member.get(f"{HERE}/{connection.id}/disconnect")).text
    answer = await member.post(f"{HERE}/{connection.id}/disconnect")

    assert answer.headers["location"] == f"{HERE}?done=disconnected"
    assert await operations.list_connections(runtime.work(OPERATOR), user) == []


async def test_an_unknown_kind_is_not_found(member: httpx2.AsyncClient) -> None:
    assert (await member.get(f"{HERE}/connect/other")).status_code == 404


async def test_commands_connect_list_test_and_disconnect(user: User, cli: Cli) -> None:
    async def run(*arguments: str) -> Any:
        return await asyncio.to_thread(cli, "crm", *arguments, "--json")

    async with receiving_crm() as receiver:
        made = await run("connect", "--user", user.email, "--webhook", receiver.url)
        assert (made["vendor"], made["account"], made["state"]) == ("webhook", receiver.url, "connected")
        (listed,) = (await run("list", "--user", user.email))["crms"]
        assert listed == {name: value for name, value in made.items() if name != "secret"}
        receiver.secret = made["secret"]
        assert (await run("test", made["id"]))["works"] is True
        receiver.secret = new_secret()
        with pytest.raises(Invalid, match="no longer accepts"):
            await run("test", made["id"])
    assert await run("disconnect", made["id"], "--yes") == {"disconnected": made["id"]}
    assert await run("list") == {"crms": []}
    for wrong in ([], ["--hubspot"], ["--hubspot", "--webhook", "https://crm.example"]):
        with pytest.raises(Invalid, match="Specify"):
            await run("connect", "--user", user.email, *wrong)
