"""Two decisions at the same moment: the organization keeps an owner, and nobody is both in and out."""

import asyncio
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import Role
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor, add_user, join
from tests.doors.web.organization.support import MEMBERS, link_of, member_id_of, read_form, signed_in
from tests.support.host import ELEVEN, Book, open_session
from tests.support.live import connect
from tests.support.locks import held, until_waiting
from tests.support.page import read_page
from tests.support.provisioning import Provider

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

ROUNDS = 4


async def owners(runtime: Runtime, harbor: Harbor) -> int:
    count: int = await runtime.pool.fetchval(
        "select count(*) from memberships where organization_id = $1 and role = 'owner' and active",
        harbor.organization.id,
    )
    return count


@pytest.mark.parametrize(
    ("deed", "data"),
    [("role", {"role": "member"}), ("remove", {}), ("suspend", {})],
    ids=["demote", "remove", "suspend"],
)
async def test_two_owners_who_end_each_other_leave_one(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    harbor: Harbor,
    password_hash: str,
    deed: str,
    data: dict[str, str],
) -> None:
    otto = await add_user(runtime, "otto", password_hash)
    otto_id = await join(runtime, harbor.organization, otto, Role.OWNER)
    olga_id = harbor.id_of(harbor.owner)
    first, second = await open_session(runtime, harbor.owner), await open_session(runtime, otto)
    lock = "select from organizations where id = $1 for no key update"
    async with signed_in(client, first) as olga, signed_in(client, second) as his:
        async with held(runtime, lock, harbor.organization.id, waiting=2):
            begun = [
                asyncio.create_task(olga.post(f"{MEMBERS}/{otto_id}/{deed}", data=data)),
                asyncio.create_task(his.post(f"{MEMBERS}/{olga_id}/{deed}", data=data)),
            ]
        answers = await asyncio.gather(*begun)

    assert sorted(answer.status_code for answer in answers) == [303, 404]
    assert await owners(runtime, harbor) == 1
    assert await runtime.pool.fetchval("select count(*) from change_log") == 1


async def test_two_owners_who_step_down_at_once_leave_one(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    otto = await add_user(runtime, "otto", password_hash)
    otto_id = await join(runtime, harbor.organization, otto, Role.OWNER)
    first, second = await open_session(runtime, harbor.owner), await open_session(runtime, otto)
    lock = "select from organizations where id = $1 for no key update"
    async with signed_in(client, first) as olga, signed_in(client, second) as his:
        async with held(runtime, lock, harbor.organization.id, waiting=2):
            begun = [
                asyncio.create_task(olga.post(f"{MEMBERS}/{harbor.id_of(harbor.owner)}/role", data={"role": "admin"})),
                asyncio.create_task(his.post(f"{MEMBERS}/{otto_id}/role", data={"role": "admin"})),
            ]
        answers = await asyncio.gather(*begun)

    assert sorted(answer.status_code for answer in answers) == [303, 409]
    assert await owners(runtime, harbor) == 1


async def test_a_booking_that_is_made_during_the_removal_is_cancelled_and_told(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    await book()
    async with signed_in(client, await open_session(runtime, harbor.owner)) as olga:
        path = f"{MEMBERS}/{harbor.id_of(harbor.member)}/remove"
        seen = read_form((await olga.get(path)).text)
        lock = "select pg_advisory_xact_lock(1, $1::bigint::int)"
        async with held(runtime, lock, harbor.member.no, waiting=2):
            # The invitee comes first in the line for the host's time, the administrator second.
            booking = asyncio.ensure_future(book(ELEVEN, actor=PUBLIC))
            await until_waiting(runtime, 1)
            removal = asyncio.create_task(olga.post(path, data=seen))
        await booking
        answer = await removal

    assert answer.headers["location"].endswith("done=removed&cancelled=2&added=1&gone=0")
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 0


@pytest.mark.parametrize("number", range(ROUNDS))
async def test_an_invitation_is_accepted_or_withdrawn_and_never_both(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, number: int
) -> None:
    async with (
        signed_in(client, await open_session(runtime, harbor.owner)) as olga,
        connect(str(client.base_url)) as finn,
    ):
        await olga.post(MEMBERS, data={"email": harbor.free.email})
        member_id, link = await member_id_of(runtime, harbor.free.email), await link_of(runtime, harbor.free.email)
        async with held(runtime, "select from invitations for update", waiting=2):
            paths = [(finn, link), (olga, f"{MEMBERS}/{member_id}/withdraw")]
            chosen = paths if number % 2 else paths[::-1]
            begun = [asyncio.create_task(sender.post(path)) for sender, path in chosen]
        answers = await asyncio.gather(*begun)
    accepted, withdrawn = answers if number % 2 else reversed(answers)

    assert (accepted.status_code, withdrawn.status_code) in {(303, 409), (403, 303)}
    is_in = await runtime.pool.fetchval("select active from memberships where id = $1", member_id)
    assert is_in is (True if accepted.status_code == 303 else None)


async def test_an_invitation_that_is_accepted_while_it_is_sent_again_stays_accepted(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    async with (
        signed_in(client, await open_session(runtime, harbor.owner)) as olga,
        connect(str(client.base_url)) as finn,
    ):
        await olga.post(MEMBERS, data={"email": harbor.free.email})
        await runtime.pool.execute("update invitations set created_at = created_at - interval '1 hour'")
        member_id, link = await member_id_of(runtime, harbor.free.email), await link_of(runtime, harbor.free.email)
        async with held(runtime, "select from invitations for update", waiting=2):
            accepting = asyncio.create_task(finn.post(link))
            await until_waiting(runtime, 1)
            again = asyncio.create_task(olga.post(f"{MEMBERS}/{member_id}/invitation"))
        answers = (await accepting).status_code, (await again).status_code

    assert answers == (303, 409)
    assert await runtime.pool.fetchval("select used_at is not null from invitations") is True


async def test_a_revoked_token_is_refused_from_the_next_request_on(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, settings: Settings
) -> None:
    del settings
    async with signed_in(client, await open_session(runtime, harbor.owner)) as olga:
        made = await olga.post("/organization/provisioning/tokens", data={"name": "Okta", "expires": "never"})
        token = made.text.partition("svc_scim_")[2].partition("<")[0]
        token_id: UUID = await runtime.pool.fetchval("select id from scim_tokens")
        provider = Provider(client, f"svc_scim_{token}")
        after: list[int] = []
        is_revoked = asyncio.Event()

        async def ask() -> None:
            for number in range(30):
                began_after = is_revoked.is_set()
                answer = await provider.send("GET", f"/Users?startIndex={number}")
                if began_after:
                    after.append(answer.status_code)

        asking = asyncio.create_task(ask())
        await asyncio.sleep(0.05)
        assert (await olga.post(f"/organization/provisioning/tokens/{token_id}/revoke")).status_code == 303
        is_revoked.set()
        await asking
        last = await provider.send("GET", "/Users")

    # Tries with a token that is no longer good are counted by address.
    assert set(after) <= {401, 429}
    assert last.status_code in {401, 429}


async def test_a_departure_is_decided_once(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    await book()
    mara = harbor.member
    await runtime.pool.execute(
        """insert into held_departures (organization_id, user_id, held_at, removed, member_id, role)
        values ($1, $2, now(), false, $3, 'member')""",
        harbor.organization.id,
        mara.id,
        harbor.id_of(mara),
    )
    first, second = await open_session(runtime, harbor.owner), await open_session(runtime, harbor.admin)
    path = f"/organization/provisioning/waiting/{mara.id}"
    lock = "select from organizations where id = $1 for no key update"
    async with signed_in(client, first) as olga, signed_in(client, second) as anna:
        async with held(runtime, lock, harbor.organization.id, waiting=2):
            begun = [
                asyncio.create_task(olga.post(f"{path}/approve")),
                asyncio.create_task(anna.post(f"{path}/reject")),
            ]
        answers = await asyncio.gather(*begun)

    assert sorted(answer.status_code for answer in answers) == [303, 404]
    assert await runtime.pool.fetchval("select count(*) from change_log") == 1


async def test_a_decision_on_the_page_and_the_providers_word_do_not_wait_for_each_other(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    await book()
    mara = harbor.member
    await runtime.pool.execute(
        """with gone as (delete from memberships where user_id = $2)
        insert into held_departures (organization_id, user_id, held_at, removed, member_id, role)
        values ($1, $2, now(), true, $3, 'member')""",
        harbor.organization.id,
        mara.id,
        harbor.id_of(mara),
    )
    async with signed_in(client, await open_session(runtime, harbor.owner)) as olga:
        made = await olga.post("/organization/provisioning/tokens", data={"name": "Okta", "expires": "never"})
        token = made.text.partition("svc_scim_")[2].partition("<")[0]
        provider = Provider(client, f"svc_scim_{token}")
        invited = await olga.post(MEMBERS, data={"email": mara.email})
        lock = "select from organizations where id = $1 for no key update"
        async with held(runtime, lock, harbor.organization.id, waiting=2):
            approving = asyncio.create_task(olga.post(f"/organization/provisioning/waiting/{mara.id}/approve"))
            await until_waiting(runtime, 1)
            posting = asyncio.create_task(provider.send("POST", "/Users", {"userName": mara.email, "active": False}))
        answers = (await approving).status_code, (await posting).status_code

    assert (invited.status_code, "departure waits for a decision" in read_page(invited).faults["email"]) == (400, True)
    assert answers == (303, 201)
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 0
