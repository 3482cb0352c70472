"""Invitations: sent, accepted, sent again and withdrawn."""

from datetime import timedelta

import httpx2

from openslot.accounts.models import UserWanted
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from openslot.people import operations as people
from tests.clocks import MovingClock
from tests.conftest import PASSWORD
from tests.integrations.mail.conftest import messages
from tests.web.organization.conftest import Harbor, act_as, add_user
from tests.web.organization.test_members import invite, link_of, member_id_of, state_of
from tests.webhooks.conftest import work_off

MEMBERS = "/organization/members"


async def test_a_stranger_is_invited_and_joins_by_accepting(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    answer = await invite(owner, "finn@x.example", name="Whatever", role="admin")
    assert answer.headers["location"] == f"{MEMBERS}?done=invited"
    assert "The invitation was sent" in (await owner.get(answer.headers["location"])).text
    finn = await member_id_of(runtime, "finn@x.example")
    assert finn is not None
    shown = await owner.get(f"{MEMBERS}/{finn}")

    # Nothing of a stranger's account is shown before its owner has agreed.
    assert harbor.free.name not in shown.text
    assert harbor.free.name not in (await owner.get(MEMBERS)).text
    assert "No member matches" in (await owner.get(f"{MEMBERS}?q=Finn+Lind")).text
    assert await state_of(owner, finn) == "Invited"
    await work_off(runtime, clock)
    assert [mail["subject"] for mail in await messages(runtime, "finn@x.example")] == ["You are invited to join Harbor"]
    for deed in ("remove", "suspend"):
        assert (await owner.get(f"{MEMBERS}/{finn}/{deed}")).status_code == 303
        assert (await owner.post(f"{MEMBERS}/{finn}/{deed}")).status_code == 404
    done = await owner.post(await link_of(runtime, "finn@x.example"))
    assert done.status_code == 303
    assert await state_of(owner, finn) == "Active"
    assert harbor.free.name in (await owner.get(MEMBERS)).text
    assert (await (await act_as(owner, runtime, harbor.free)).get(MEMBERS)).status_code == 200


async def test_who_has_no_account_gets_one_with_a_first_password(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    del harbor
    await invite(owner, "li@elsewhere.example", name="Li Wen")
    link = await link_of(runtime, "li@elsewhere.example")
    owner.headers.pop("cookie")
    done = await owner.post(link, data={"password": PASSWORD})

    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert await runtime.pool.fetchval("select name from users where email = 'li@elsewhere.example'") == "Li Wen"


async def test_an_account_in_a_verified_domain_joins_at_once(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    await add_user(runtime, "pia", password_hash)
    answer = await invite(owner, "PIA@harbor.example")
    pia = await member_id_of(runtime, "pia@harbor.example")

    assert answer.headers["location"] == f"{MEMBERS}?done=added"
    assert pia is not None
    assert await state_of(owner, pia) == "Active"
    assert await runtime.pool.fetchval("select action from change_log") == "member.added"
    assert harbor.organization.id is not None


WRONG_INVITATIONS: list[tuple[dict[str, str], str]] = [
    ({"email": ""}, "Enter an email address"),
    ({"email": "not-an-address"}, "Is not a valid email address"),
    ({"email": "mara@harbor.example"}, "This user is already a member"),
    ({"email": "MARA@HARBOR.example"}, "This user is already a member"),
    ({"email": "x@y.example", "role": "emperor"}, "Must be one of"),
    ({"email": "x@y.example", "name": "n" * 201}, "Must have at most 200 characters"),
    ({"email": "x@y.example", "name": "a\x01b"}, "Has characters that are not allowed"),
]


async def test_a_wrong_invitation_is_explained_at_its_field(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    del harbor
    before = await runtime.pool.fetchval("select count(*) from users")
    for fields, fault in WRONG_INVITATIONS:
        answer = await owner.post(MEMBERS, data=fields)

        assert answer.status_code == 400, (fields, fault)
        assert fault in answer.text, (fields, fault)
        assert fields["email"] in answer.text, (fields, fault)
        assert await runtime.pool.fetchval("select count(*) from users") == before, (fields, fault)
        assert await runtime.pool.fetchval("select count(*) from invitations") == 0, (fields, fault)


async def test_an_invitation_is_sent_again_and_the_old_link_ends(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    await invite(owner, harbor.free.email)
    finn = await member_id_of(runtime, harbor.free.email)
    assert finn is not None
    old = await link_of(runtime, harbor.free.email)
    too_soon = await owner.post(f"{MEMBERS}/{finn}/invitation")
    assert (too_soon.status_code, "less than 5 minutes ago" in too_soon.text) == (409, True)
    clock.now += timedelta(days=15)
    await act_as(owner, runtime, harbor.owner)
    assert await state_of(owner, finn) == "Invitation expired"
    assert (await owner.post(f"{MEMBERS}/{finn}/invitation")).status_code == 303
    new = await link_of(runtime, harbor.free.email)

    assert await state_of(owner, finn) == "Invited"
    assert ((await owner.get(old)).status_code, (await owner.get(new)).status_code) == (403, 200)
    await owner.post(new)
    again = await owner.post(f"{MEMBERS}/{finn}/invitation")
    assert (again.status_code, "accepted or withdrawn" in again.text) == (409, True)


async def test_a_withdrawn_invitation_leaves_nothing_behind(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await invite(owner, harbor.free.email)
    await invite(owner, "new@elsewhere.example")
    for email in (harbor.free.email, "new@elsewhere.example"):
        link, member_id = await link_of(runtime, email), await member_id_of(runtime, email)
        answer = await owner.post(f"{MEMBERS}/{member_id}/withdraw")
        assert answer.headers["location"] == f"{MEMBERS}?done=withdrawn"
        assert (await owner.get(link)).status_code == 403
        assert (await owner.get(f"{MEMBERS}/{member_id}")).status_code == 404
    emails = {row["email"] for row in await runtime.pool.fetch("select email from users")}

    # The account that was opened for the invitation is gone; the one that was there before is not.
    assert harbor.free.email in emails
    assert "new@elsewhere.example" not in emails
    assert await runtime.pool.fetchval("select count(*) from invitations") == 0


async def test_a_withdrawn_invitation_deletes_no_account_that_was_there_before(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.welcome(work, UserWanted(email="olli@elsewhere.example", name="Olli"))
    clock.now += timedelta(seconds=1)
    await invite(owner, "olli@elsewhere.example")
    member_id = await member_id_of(runtime, "olli@elsewhere.example")
    assert (await owner.post(f"{MEMBERS}/{member_id}/withdraw")).status_code == 303

    assert await runtime.pool.fetchval("select name from users where email = 'olli@elsewhere.example'") == "Olli"
    assert harbor.organization.id is not None


async def test_an_accepted_invitation_can_not_be_withdrawn(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await invite(owner, harbor.free.email)
    finn = await member_id_of(runtime, harbor.free.email)
    await owner.post(await link_of(runtime, harbor.free.email))
    answer = await owner.post(f"{MEMBERS}/{finn}/withdraw")

    assert (answer.status_code, "accepted or withdrawn" in answer.text) == (409, True)
    assert await member_id_of(runtime, harbor.free.email) == finn


async def test_an_organization_sends_500_invitations_a_day(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    await runtime.pool.execute(
        """with made as (
            insert into users (id, email, name, username, plan, zone, locale, is_admin, created_at, updated_at)
            select gen_random_uuid(), 'u' || n || '@x.example', 'User', 'user' || n, 'FREE', 'UTC', 'en', false, now(),
                now() from generate_series(1, 500) n returning id)
        insert into invitations (id, organization_id, user_id, hash, created_at, expires_at)
        select gen_random_uuid(), $1, id, id::text::bytea, $2, $2::timestamptz + interval '14 days' from made""",
        harbor.organization.id,
        clock.now,
    )
    refused = await invite(owner, "one-more@elsewhere.example")
    assert (refused.status_code, "500 invitations within a day" in refused.text) == (400, True)
    clock.now += timedelta(days=1, seconds=1)
    await act_as(owner, runtime, harbor.owner)
    assert (await invite(owner, "one-more@elsewhere.example")).status_code == 303
