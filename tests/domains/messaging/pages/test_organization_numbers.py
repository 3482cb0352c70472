"""An organization's numbers: its administrators connect them, choose the default host, and all of it is logged."""

import json

import httpx2

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.messaging.pages.conftest import NUMBER
from tests.support.fake_twilio import FakeAccount
from tests.support.messaging import NUMBER as NUMBERED
from tests.support.messaging import insert_number
from tests.support.page import read_page

HERE = "/organization/messages"


async def last_line(runtime: Runtime) -> tuple[str, str, dict[str, object], dict[str, object]]:
    row = await runtime.pool.fetchrow(
        "select action, subject, before::text, after::text from change_log order by id desc limit 1"
    )
    assert row is not None
    return row["action"], row["subject"], json.loads(row["before"] or "{}"), json.loads(row["after"] or "{}")


async def test_an_administrator_connects_a_number_that_members_use(
    member: httpx2.AsyncClient, runtime: Runtime, harbor: Organization, account: FakeAccount
) -> None:
    ours = {"organization": str(harbor.id)}
    data = {"channel": "sms", "number": NUMBER, "provider_account": account.sid, "token": account.token, **ours}
    made = await member.post(HERE, data=data)

    row = await runtime.pool.fetchrow("select id, organization_id, user_id from messaging_connections")
    assert row is not None
    assert (row["organization_id"], row["user_id"]) == (harbor.id, None)
    page = f"{HERE}/{row['id']}"
    assert made.headers["location"] == f"{page}?done=connected"
    assert await last_line(runtime) == ("number.connected", NUMBER, {}, {"channel": "sms"})
    assert "Numbers that you write from" in read_page(await member.get("/settings/messages")).text
    account.token = "e" * 32
    replaced = await member.post(f"{page}/token", data={"token": account.token, **ours})
    assert replaced.headers["location"] == f"{page}?done=replaced"
    assert (await last_line(runtime))[:2] == ("number.changed", NUMBER)
    tested = await member.post(f"{page}/test", data={"phone": "+491701234567", **ours})
    assert tested.headers["location"] == f"{page}?done=tested"
    assert "Harbor" in account.sent[0].body
    ended = await member.post(f"{page}/disconnect", data=ours)
    assert ended.headers["location"] == f"{HERE}?done=disconnected"
    assert (await last_line(runtime))[:2] == ("number.disconnected", NUMBER)


async def test_the_default_host_is_a_member(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, harbor: Organization, stranger: User
) -> None:
    number = await insert_number(runtime, organization_id=harbor.id)
    await runtime.pool.execute("update messaging_connections set can_cancel = true")
    page, ours = f"{HERE}/{number.id}", {"organization": str(harbor.id)}
    chosen = "select default_host_id from messaging_connections"
    for email in (stranger.email, "nobody@example.com", "x"):
        refused = await member.post(f"{page}/host", data={"host": email, **ours})
        assert read_page(refused).faults == {"host": "Must be an active member of the organization"}
    assert await runtime.pool.fetchval(chosen) is None
    async with runtime.transaction(OPERATOR) as work:
        await add_organization_member(work, harbor, stranger, role=Role.MEMBER)

    saved = await member.post(f"{page}/host", data={"host": f" {stranger.email} ", **ours})

    assert saved.headers["location"] == f"{page}?done=saved"
    assert await runtime.pool.fetchval(chosen) == stranger.id
    assert await runtime.pool.fetchval("select can_cancel from messaging_connections")
    assert (await last_line(runtime))[2:] == ({"default_host": ""}, {"default_host": stranger.email})
    assert stranger.email in (await member.get(page)).text
    await member.post(f"{page}/host", data={"host": "", **ours})
    assert await runtime.pool.fetchval(chosen) is None


async def test_cancelling_by_message_is_switched_on_and_logged(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, harbor: Organization
) -> None:
    number = await insert_number(runtime, organization_id=harbor.id)
    await runtime.pool.execute("update messaging_connections set default_host_id = $1", user.id)
    page, ours = f"{HERE}/{number.id}", {"organization": str(harbor.id)}
    assert "The sender of a message can be forged" in read_page(await member.get(page)).text

    saved = await member.post(f"{page}/cancelling", data={"can_cancel": "on", **ours})

    assert saved.headers["location"] == f"{page}?done=saved"
    row = await runtime.pool.fetchrow("select can_cancel, default_host_id from messaging_connections")
    assert row is not None
    assert (row["can_cancel"], row["default_host_id"]) == (True, user.id)
    assert await last_line(runtime) == ("number.changed", NUMBERED, {"can_cancel": False}, {"can_cancel": True})
    assert "Let people cancel by replying C" in read_page(await member.get("/organization/log")).text


async def test_members_see_nothing_of_it(member: httpx2.AsyncClient, runtime: Runtime, harbor: Organization) -> None:
    number = await insert_number(runtime, organization_id=harbor.id)
    await runtime.pool.execute("update memberships set role = 'member'")

    for path in (HERE, f"{HERE}/{number.id}", f"/settings/messages/{number.id}"):
        assert (await member.get(path)).status_code == 404


async def test_the_template_for_reminders_is_logged(
    member: httpx2.AsyncClient, runtime: Runtime, harbor: Organization
) -> None:
    number = await insert_number(runtime, organization_id=harbor.id, channel=ConnectionChannel.WHATSAPP)
    template = "HX" + "0a" * 16
    data = {"template": template, "organization": str(harbor.id)}
    saved = await member.post(f"{HERE}/{number.id}/template", data=data)

    assert saved.headers["location"] == f"{HERE}/{number.id}?done=saved"
    line = await last_line(runtime)
    assert line == ("number.changed", number.number, {"template": ""}, {"template": template})
    assert "Template for reminders" in read_page(await member.get("/organization/log")).text
