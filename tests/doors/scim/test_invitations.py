"""Joiners take their account over by a link; strangers join only when they accept."""

import asyncio

import httpx2

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.members.store import update_accepted_member as accept
from openslot.domains.accounts.models import Organization, User
from openslot.doors.scim.operations import list_requests
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.conftest import sign_in
from tests.support.leavers import book_one, statuses
from tests.support.passwords import PASSWORD
from tests.support.provisioning import Provider

SUSPEND = {"op": "replace", "path": "active", "value": False}


async def link_of(runtime: Runtime) -> str:
    """Write the link that the mail will have."""
    invitation_id = await runtime.pool.fetchval("select id from invitations")
    url = invitations.invitation_url(runtime, invitation_id)
    return url.removeprefix(runtime.settings.public_url)


async def test_a_joiner_sets_a_password_and_is_signed_in(
    provider: Provider, runtime: Runtime, client: httpx2.AsyncClient
) -> None:
    await provider.create("li@harbor.example", displayName="Li")
    link = await link_of(runtime)
    shown = await client.get(link)
    assert shown.status_code == 200
    assert "Join Harbor" in shown.text
    assert "li@harbor.example" in shown.text
    for password, fault in (("", "Choose a password"), ("short", "Must have at least 10 characters")):
        wrong = await client.post(link, data={"password": password})
        assert wrong.status_code == 400
        assert fault in wrong.text
    done = await client.post(link, data={"password": PASSWORD}, timeout=60)

    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert "li@harbor.example" in (await client.get("/account")).text
    client.cookies.clear()
    assert (await sign_in(client, "li@harbor.example")).status_code == 303
    assert await runtime.pool.fetchval("select count(*) from events where type = 'invitation.accepted'") == 1


async def test_a_link_is_good_once(provider: Provider, runtime: Runtime, client: httpx2.AsyncClient) -> None:
    await provider.create("li@harbor.example")
    link = await link_of(runtime)
    answers = await asyncio.gather(*(client.post(link, data={"password": PASSWORD}, timeout=60) for _ in range(3)))

    assert sorted(answer.status_code for answer in answers) == [303, 403, 403]
    again = await client.get(link)
    assert again.status_code == 403
    assert "Ask your organization for a new one" in again.text


async def test_a_link_ends(provider: Provider, runtime: Runtime, client: httpx2.AsyncClient) -> None:
    made = await provider.create("li@harbor.example")
    link = await link_of(runtime)
    assert (await client.get(link)).status_code == 200
    await provider.patch(made["id"], SUSPEND)
    assert (await client.get(link)).status_code == 403
    await provider.patch(made["id"], {"op": "replace", "path": "active", "value": True})
    newer = await link_of(runtime)
    assert newer != link
    assert ((await client.get(link)).status_code, (await client.get(newer)).status_code) == (403, 200)
    await runtime.pool.execute("update invitations set expires_at = now()")
    assert (await client.get(newer)).status_code == 403
    for token in ("x", "%00", "a" * 500):
        assert (await client.get(f"/invite/{token}")).status_code in {403, 404}


async def test_a_link_ends_with_the_membership(
    provider: Provider, runtime: Runtime, client: httpx2.AsyncClient
) -> None:
    made = await provider.create("li@harbor.example")
    link = await link_of(runtime)
    await provider.send("DELETE", f"/Users/{made['id']}")

    assert (await client.get(link)).status_code == 403


async def test_the_token_is_kept_nowhere(provider: Provider, runtime: Runtime) -> None:
    await provider.create("li@harbor.example")
    token = (await link_of(runtime)).removeprefix("/invite/")
    for table in ("invitations", "events", "effects", "scim_requests"):
        rows = await runtime.pool.fetch(f"select t::text from {table} t")
        assert not any(token in row["t"] for row in rows)


async def test_who_has_an_account_outside_joins_by_accepting(
    provider: Provider, runtime: Runtime, client: httpx2.AsyncClient, user: User, organization: Organization
) -> None:
    made = await provider.create(user.email)
    before = await accounts.get_user(runtime.work(OPERATOR), user.id)
    assert before.effective_plan == "PRO"
    link = await link_of(runtime)
    shown = await client.get(link)
    assert "Accept" in shown.text
    assert 'type="password"' not in shown.text
    done = await client.post(link, data={"password": "a-password-of-someone-else"})
    after = await accounts.get_user(runtime.work(OPERATOR), user.id)

    assert (done.status_code, done.headers["location"]) == (303, "/login")
    assert "set-cookie" not in done.headers
    assert after.effective_plan == "BUSINESS"
    assert (await sign_in(client, user.email)).status_code == 303
    await book_one(runtime)
    await provider.patch(made["id"], SUSPEND)
    assert await statuses(runtime, user) == ["CANCELLED"]


async def test_who_accepts_after_being_suspended_is_still_suspended(
    provider: Provider, runtime: Runtime, client: httpx2.AsyncClient, user: User
) -> None:
    made = await provider.create(user.email)
    link = await link_of(runtime)
    await provider.patch(made["id"], SUSPEND)
    await client.post(link)

    assert await runtime.pool.fetchval("select active from memberships") is False
    assert (await provider.read(made["id"]))["active"] is False


async def test_deleting_and_creating_again_sends_no_more_mail_than_allowed(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    for number in range(8):
        made = await provider.create(f"stranger+{number}@x.example")
        assert (await provider.send("DELETE", f"/Users/{made['id']}")).status_code == 204
    answer = await provider.send("POST", "/Users", {"userName": "Stranger@X.example"})
    assert (await provider.send("GET", f"/Users/{answer.json()['id']}")).status_code == 200
    work = runtime.work(OPERATOR)
    tokens = [row["id"] for row in await runtime.pool.fetch("select id from scim_tokens")]
    logged = await list_requests(work, tokens)

    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'mail.invite'") == 5
    said = "The invitation was not sent: this address was sent as many as allowed"
    assert (answer.status_code, answer.headers["x-notice"]) == (201, said)
    assert [each.detail for each in logged if each.method == "POST"] == [said] * 4 + [None] * 5
    assert [each.detail for each in logged if each.method == "GET"] == [None]
    assert organization.id is not None


async def test_the_name_of_an_account_is_not_told_before_its_owner_has_accepted(
    provider: Provider, runtime: Runtime, organization: Organization, user: User
) -> None:
    name = "Ottilie Vandermeer"
    async with runtime.transaction(OPERATOR) as work:
        await accounts.rename_user(work, user, name)
        member_id = await members.add_described_member(
            work, organization, user, profile=None, said_active=True, pending=True
        )
    shown = await provider.read(str(member_id))
    by_name = await provider.find(f'displayName eq "{name}"')
    by_part = await provider.find(f'displayName sw "Ott" and userName eq "{user.email}"')
    by_address = await provider.find(f'displayName eq "{user.email}"')
    listed = (await provider.send("GET", "/Users")).json()["Resources"]
    changed = await provider.patch(str(member_id), {"op": "replace", "path": "title", "value": "Host"})

    assert (shown["userName"], shown["displayName"]) == (user.email, user.email)
    assert (by_name["totalResults"], by_part["totalResults"], by_address["totalResults"]) == (0, 0, 1)
    for told in (shown, listed, changed.json(), await provider.read(str(member_id))):
        assert not [part for part in name.split() if part in str(told)], told

    async with runtime.transaction(OPERATOR) as work:
        await accept(work.db, organization.id, user.id, now=work.now)
        await work.db.execute("update member_profiles set profile = null")
    assert (await provider.read(str(member_id)))["displayName"] == name
