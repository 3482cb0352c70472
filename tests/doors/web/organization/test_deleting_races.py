"""An organization is deleted while others join it, accept, are changed by a provider, or decide about it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.errors import OrganizationNotFound
from openslot.domains.accounts.members.operations import add_organization_member, get_member
from openslot.domains.accounts.models import Role
from openslot.domains.people import organization_deletions, store
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor, add_user, join
from tests.doors.web.organization.support import DELETE_PAGE, MEMBERS, SURE, is_there, link_of, signed_in
from tests.support.host import Book, open_session
from tests.support.live import connect
from tests.support.locks import held, until_waiting
from tests.support.provisioning import SUSPEND, Provider

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

LOCK = "select from organizations where slug = 'harbor' for update"
LEFT = "select count(*) from memberships m left join organizations o on o.id = m.organization_id where o.id is null"

Send = Callable[[], Coroutine[Any, Any, httpx2.Response]]


async def one_after_the_other(runtime: Runtime, first: Send, second: Send, lock: str = LOCK) -> list[httpx2.Response]:
    """Let two requests wait for one lock, in this order."""
    begun = []
    async with held(runtime, lock, waiting=2):
        for number, send in enumerate((first, second), start=1):
            begun.append(asyncio.create_task(send()))
            await until_waiting(runtime, number)
    return await asyncio.gather(*begun)


async def provide(client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> Provider:
    async with runtime.transaction(OPERATOR) as work:
        token, _ = await access.create_scim_token(work, harbor.organization, name="Okta")
    return Provider(client, token)


@pytest.mark.parametrize("deletes_first", [True, False], ids=["deletion first", "provider first"])
@pytest.mark.parametrize("deed", ["create", "create known", "suspend", "rename", "remove"])
async def test_a_provider_finds_nothing_or_is_done_before(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book, deed: str, *, deletes_first: bool
) -> None:
    await book()
    provider = await provide(client, runtime, harbor)
    member = harbor.id_of(harbor.member)
    rename = {"op": "replace", "path": "userName", "value": "mara.lind@harbor.example"}
    deeds: dict[str, Send] = {
        "create": lambda: provider.send("POST", "/Users", {"userName": "new@harbor.example"}),
        "create known": lambda: provider.send("POST", "/Users", {"userName": harbor.free.email}),
        "suspend": lambda: provider.patch(str(member), SUSPEND),
        "rename": lambda: provider.patch(str(member), rename),
        "remove": lambda: provider.send("DELETE", f"/Users/{member}"),
    }
    async with signed_in(client, await open_session(runtime, harbor.owner)) as olga:
        order = (lambda: olga.post(DELETE_PAGE, data=SURE), deeds[deed])
        answers = await one_after_the_other(runtime, *(order if deletes_first else order[::-1]))
    deleted, provided = answers if deletes_first else reversed(answers)

    assert deleted.status_code == 303, deleted.text
    assert provided.status_code in ({404} if deletes_first else {200, 201, 204}), provided.text
    assert not await is_there(runtime)
    assert await runtime.pool.fetchval(LEFT) == 0
    cancels = not deletes_first and deed in {"suspend", "remove"}
    assert await runtime.pool.fetchval("select status from bookings") == ("CANCELLED" if cancels else "CONFIRMED")
    closed = await runtime.pool.fetchval("select disabled_at from users where id = $1", harbor.member.id)
    assert (closed is not None) is (not deletes_first and deed == "suspend")


@pytest.mark.parametrize("deletes_first", [True, False], ids=["deletion first", "acceptance first"])
async def test_an_invitation_is_accepted_before_or_not_at_all(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, *, deletes_first: bool
) -> None:
    async with (
        signed_in(client, await open_session(runtime, harbor.owner)) as olga,
        connect(str(client.base_url)) as finn,
    ):
        await olga.post(MEMBERS, data={"email": harbor.free.email})
        link = await link_of(runtime, harbor.free.email)
        order = (lambda: olga.post(DELETE_PAGE, data=SURE), lambda: finn.post(link))
        lock = "select from invitations for update"
        answers = await one_after_the_other(runtime, *(order if deletes_first else order[::-1]), lock=lock)
    deleted, accepted = answers if deletes_first else reversed(answers)

    assert deleted.status_code == 303
    assert accepted.status_code == (403 if deletes_first else 303)
    assert not await is_there(runtime)
    assert await runtime.pool.fetchval("select count(*) from users where id = $1", harbor.free.id) == 1


async def test_it_is_deleted_once(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    otto = await add_user(runtime, "otto", password_hash)
    await join(runtime, harbor.organization, otto, Role.OWNER)
    sessions = [await open_session(runtime, who) for who in (harbor.owner, otto, harbor.platform)]
    async with (
        signed_in(client, sessions[0]) as olga,
        signed_in(client, sessions[1]) as his,
        signed_in(client, sessions[2]) as ada,
    ):
        async with held(runtime, LOCK, waiting=3):
            begun = [
                asyncio.create_task(olga.post(DELETE_PAGE, data=SURE)),
                asyncio.create_task(his.post(DELETE_PAGE, data=SURE)),
                asyncio.create_task(ada.post("/admin/organizations/harbor/delete", data=SURE)),
            ]
        answers = await asyncio.gather(*begun)

    assert sorted(answer.status_code for answer in answers) == [303, 404, 404]
    assert await runtime.pool.fetchval("select count(*) from change_log") == 1
    assert await runtime.pool.fetchval("select count(*) from events where type = 'organization.deleted'") == 1


@pytest.mark.parametrize(("role", "status"), [("admin", 403), ("member", 403), (None, 404)])
async def test_a_role_that_is_lost_while_the_password_is_checked_deletes_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, role: str | None, status: int
) -> None:
    async with signed_in(client, await open_session(runtime, harbor.owner)) as olga:
        async with held(runtime, LOCK, waiting=1):
            deleting = asyncio.create_task(olga.post(DELETE_PAGE, data=SURE))
            await until_waiting(runtime, 1)
            member = harbor.id_of(harbor.owner)
            if role is None:
                await runtime.pool.execute("delete from memberships where id = $1", member)
            else:
                await runtime.pool.execute("update memberships set role = $2 where id = $1", member, role)
        answer = await deleting

    assert answer.status_code == status
    assert await is_there(runtime)


async def test_an_administrators_decision_comes_before_or_finds_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    first, second = await open_session(runtime, harbor.owner), await open_session(runtime, harbor.admin)
    async with signed_in(client, first) as olga, signed_in(client, second) as anna:
        invitation = {"email": "late@elsewhere.example"}
        answers = await one_after_the_other(
            runtime, lambda: olga.post(DELETE_PAGE, data=SURE), lambda: anna.post(MEMBERS, data=invitation)
        )

    assert [answer.status_code for answer in answers] == [303, 404]
    assert await runtime.pool.fetchval("select count(*) from users where email = $1", invitation["email"]) == 0


async def test_a_member_who_is_renamed_meanwhile_keeps_the_name(runtime: Runtime, harbor: Harbor) -> None:
    async def rename() -> None:
        await runtime.pool.execute("update users set name = 'Mara Berg' where id = $1", harbor.member.id)

    async with runtime.transaction(OPERATOR) as work:
        await organization_deletions.delete_as_operator(work, harbor.organization)
        renaming = asyncio.create_task(rename())
        await until_waiting(runtime, 1)
    await renaming

    assert await runtime.pool.fetchval("select name from users where id = $1", harbor.member.id) == "Mara Berg"


async def test_an_operator_adds_nobody_to_what_is_deleted(runtime: Runtime, harbor: Harbor) -> None:
    async def add() -> None:
        async with runtime.transaction(OPERATOR) as other:
            await add_organization_member(other, harbor.organization, harbor.free)

    async with runtime.transaction(OPERATOR) as work:
        await organization_deletions.delete_as_operator(work, harbor.organization)
        adding = asyncio.create_task(add())
        await until_waiting(runtime, 1)

    with pytest.raises(OrganizationNotFound):
        await adding


async def test_a_provider_who_changes_a_member_whose_departure_waits_is_not_in_the_way(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    """Both want the host and the organization: in different orders, each would wait for the other."""
    await book()
    provider = await provide(client, runtime, harbor)
    async with runtime.transaction(OPERATOR) as work:
        member = await get_member(work, harbor.organization.id, harbor.id_of(harbor.member))
        await store.insert_held(work.db, member, removed=False, now=work.now)
    rename = {"op": "replace", "path": "displayName", "value": "Mara Berg"}
    lock = f"select pg_advisory_xact_lock(1, {harbor.member.no})"
    async with signed_in(client, await open_session(runtime, harbor.owner)) as olga:
        changed, deleted = await one_after_the_other(
            runtime,
            lambda: provider.patch(str(member.id), rename),
            lambda: olga.post(DELETE_PAGE, data=SURE),
            lock=lock,
        )

    assert (changed.status_code, deleted.status_code) == (200, 303)
    assert await runtime.pool.fetchval("select status from bookings") == "CANCELLED"


async def test_all_at_once_without_a_failure(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    """Everything at the same moment, in no order: nobody is told that the service is broken or busy."""
    await book()
    provider = await provide(client, runtime, harbor)
    async with signed_in(client, await open_session(runtime, harbor.owner)) as olga:
        answers = await asyncio.gather(
            *(provider.send("POST", "/Users", {"userName": f"n{n}@harbor.example"}) for n in range(6)),
            provider.patch(str(harbor.id_of(harbor.member)), SUSPEND),
            olga.post(DELETE_PAGE, data=SURE),
            *(provider.send("POST", "/Users", {"userName": f"m{n}@harbor.example"}) for n in range(6)),
        )

    # Once the token is gone, each use of it is a failed authentication, and five are answered 401.
    assert {answer.status_code for answer in answers} <= {200, 201, 303, 401, 404, 429}
    assert not await is_there(runtime)
    assert await runtime.pool.fetchval(LEFT) == 0
