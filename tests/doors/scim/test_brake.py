"""The brake on departures: every way out counts, and what waits ends only by a decision or by `active: true`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.people import departures, store
from openslot.domains.people import operations as people
from openslot.domains.people.errors import DeparturePending, HeldDepartureNotFound
from openslot.domains.people.models import HeldDeparture
from openslot.doors.scim.attributes import CORE
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.scim.support import SUSPEND_AS_TEXT, crowd, is_open, join
from tests.support.leavers import book_one, statuses
from tests.support.locks import held as lock_held
from tests.support.locks import until_waiting
from tests.support.provisioning import DOMAIN, Provider

Step = Callable[[Provider, str], Awaitable[None]]
LOCK = "select from organizations where id = $1 for no key update"
NAME = f"mara@{DOMAIN}"


def patch(*operations: dict[str, Any]) -> Step:
    async def send(provider: Provider, email: str) -> None:
        answer = await provider.patch(await id_of(provider, email), *operations)
        assert answer.status_code == 200, answer.text

    return send


def put(**attributes: Any) -> Step:
    async def send(provider: Provider, email: str) -> None:
        body = {"userName": email, **attributes}
        answer = await provider.send("PUT", f"/Users/{await id_of(provider, email)}", body)
        assert answer.status_code == 200, answer.text

    return send


def post(**attributes: Any) -> Step:
    async def send(provider: Provider, email: str) -> None:
        await provider.create(email, **attributes)

    return send


async def delete(provider: Provider, email: str) -> None:
    assert (await provider.send("DELETE", f"/Users/{await id_of(provider, email)}")).status_code == 204


async def id_of(provider: Provider, email: str) -> str:
    found = await provider.find(f'userName eq "{email}"')
    return str(found["Resources"][0]["id"])


CREATE = post()
OFF = {"op": "replace", "path": "active", "value": False}
WITHOUT = {"op": "remove", "path": "active"}
# Every way in which a provider makes an active member, or the owner of an open account, inactive.
WAYS: dict[str, list[Step]] = {
    "PATCH": [CREATE, patch(OFF)],
    "PATCH, as Entra writes it": [CREATE, patch({"op": "Replace", "path": "active", "value": "False"})],
    "PATCH, add": [CREATE, patch({"op": "add", "path": "active", "value": False})],
    "PATCH without a path": [CREATE, patch({"op": "replace", "value": {"active": False}})],
    "PATCH with the schema": [CREATE, patch({"op": "replace", "path": f"{CORE}:active", "value": False})],
    "PATCH, removed and false": [CREATE, patch(WITHOUT), patch(OFF)],
    "PATCH among others": [CREATE, patch({"op": "replace", "path": "displayName", "value": "M"}, OFF)],
    "PUT": [CREATE, put(active=False)],
    "DELETE": [CREATE, delete],
    "POST": [post(active=False)],
    "POST with the text": [post(active="False")],
}
# What a provider may send about a leaver who waits, none of which is `active: true`.
REPEATS: dict[str, list[Step]] = {
    "nothing": [],
    "PATCH": [patch(OFF)],
    "PATCH, removed": [patch(WITHOUT)],
    "PATCH, removed and false": [patch(WITHOUT), patch(OFF)],
    "PATCH of a name": [patch({"op": "replace", "path": "displayName", "value": "M"})],
    "PUT": [put(active=False)],
    "PUT without active": [put(displayName="M")],
    "DELETE": [delete],
    "DELETE, POST": [delete, post(active=False)],
    "DELETE, POST, PATCH": [delete, post(active=False), patch(WITHOUT), patch(OFF)],
    "DELETE, POST, DELETE": [delete, post(active=False), delete],
    "DELETE, POST, DELETE, POST": [delete, post(active=False), delete, post(active=False)],
}


async def close_brake(runtime: Runtime, organization: Organization) -> None:
    """Let five members have left, as every way out counts them: one more is too many."""
    async with runtime.transaction(OPERATOR) as work:
        for _ in range(5):
            await store.insert_departure(work.db, organization.id, now=work.now)


async def take(steps: list[Step], provider: Provider, email: str = NAME) -> None:
    for step in steps:
        await step(provider, email)


async def waiting(runtime: Runtime, organization: Organization) -> list[HeldDeparture]:
    return await departures.list_held(runtime.work(OPERATOR), organization)


async def decide(runtime: Runtime, organization: Organization, *, approved: bool) -> None:
    async with runtime.transaction(OPERATOR) as work:
        (held,) = await departures.list_held(work, organization)
        if approved:
            await departures.approve(work, organization, held)
        else:
            await departures.reject(work, organization, held)


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_out_is_held_when_too_many_leave(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization, way: str
) -> None:
    await book_one(runtime)
    await close_brake(runtime, organization)
    await take(WAYS[way], provider)

    assert [each.email for each in await waiting(runtime, organization)] == [mara.email]
    assert await statuses(runtime, mara) == ["CONFIRMED"]


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_out_counts(
    provider: Provider, runtime: Runtime, organization: Organization, way: str, password_hash: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for number in range(7):
            wanted = UserWanted(email=f"o{number}@{DOMAIN}", name="O", username=f"o{number}")
            await people.welcome_user(work, wanted, password_hash=password_hash)
    for number in range(7):
        await take(WAYS[way], provider, f"o{number}@{DOMAIN}")

    assert await runtime.pool.fetchval("select count(*) from departures") == 7
    assert [each.email for each in await waiting(runtime, organization)] == [f"o5@{DOMAIN}", f"o6@{DOMAIN}"]


async def test_accounts_that_are_created_inactive_have_not_left(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    for number in range(8):
        await provider.create(f"new{number}@{DOMAIN}", active=False)

    assert await runtime.pool.fetchval("select count(*) from departures") == 0
    assert await waiting(runtime, organization) == []


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("end", ["approved", "rejected", "active"])
async def test_what_waits_ends_only_by_a_decision_or_by_active_true(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization, repeat: str, end: str
) -> None:
    await join(provider, mara)
    await runtime.pool.execute("update memberships set role = 'admin' where user_id = $1", mara.id)
    await book_one(runtime)
    await close_brake(runtime, organization)
    await take([patch(OFF), *REPEATS[repeat]], provider)
    assert [each.email for each in await waiting(runtime, organization)] == [mara.email]
    assert await statuses(runtime, mara) == ["CONFIRMED"]

    is_removed = REPEATS[repeat][-1:] == [delete]
    if end == "active":
        await take([post(active=True) if is_removed else patch({**OFF, "value": True})], provider)
    else:
        await decide(runtime, organization, approved=end == "approved")
    assert await waiting(runtime, organization) == []
    assert await statuses(runtime, mara) == (["CANCELLED"] if end == "approved" else ["CONFIRMED"])
    assert await is_open(runtime, mara) is (end != "approved")
    if end == "rejected":
        assert (await provider.read(await id_of(provider, NAME)))["active"] is True
        assert await runtime.pool.fetchval("select role from memberships where user_id = $1", mara.id) == "admin"


async def test_a_rejected_departure_gives_no_role_back_that_was_taken_away_while_it_waited(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    role_of = "select role from memberships where user_id = $1"
    await join(provider, mara)
    await runtime.pool.execute("update memberships set role = 'owner' where user_id = $1", mara.id)
    await close_brake(runtime, organization)
    await book_one(runtime)
    await take([patch(OFF)], provider)
    await runtime.pool.execute("update memberships set role = 'admin' where user_id = $1", mara.id)
    await take([delete, post(active=False)], provider)
    assert await runtime.pool.fetchval(role_of, mara.id) == "member"

    await take([delete], provider)
    await decide(runtime, organization, approved=False)
    assert await runtime.pool.fetchval(role_of, mara.id) == "admin"


@pytest.mark.parametrize("end", ["approved", "rejected", "active"])
async def test_a_leaver_outside_the_domain_who_is_created_again_goes_on_waiting(
    provider: Provider, runtime: Runtime, organization: Organization, user: User, end: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await add_organization_member(work, organization, user)
    await book_one(runtime)
    await close_brake(runtime, organization)
    await take([delete, post(active=False), delete, post(active=False)], provider, user.email)
    assert [(each.email, each.removed) for each in await waiting(runtime, organization)] == [(user.email, False)]

    if end == "active":
        await take([patch({**OFF, "value": True})], provider, user.email)
    else:
        await decide(runtime, organization, approved=end == "approved")
    assert await statuses(runtime, user) == (["CANCELLED"] if end == "approved" else ["CONFIRMED"])
    assert await waiting(runtime, organization) == []
    if end == "rejected":
        assert await runtime.pool.fetchval("select active from memberships where user_id = $1", user.id) is True


async def test_bookings_that_were_kept_are_not_lost_by_a_later_removal(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    await join(provider, mara)
    await book_one(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await organizations.change_organization_settings(work, organization, keeps_bookings=True)
    await take([patch(OFF)], provider)
    async with runtime.transaction(OPERATOR) as work:
        await organizations.change_organization_settings(work, organization, keeps_bookings=False)
    for member_id in (await crowd(provider, 9))[:5]:
        assert (await provider.patch(member_id, SUSPEND_AS_TEXT)).status_code == 200
    await delete(provider, NAME)

    # The suspension has counted too, so that the last of the five others waits as well.
    assert [each.email for each in await waiting(runtime, organization)] == [f"u4@{DOMAIN}", mara.email]
    assert await statuses(runtime, mara) == ["CONFIRMED"]


async def test_who_is_suspended_and_then_removed_has_left_once(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    await join(provider, mara)
    await take([patch(OFF), delete], provider)

    assert await runtime.pool.fetchval("select count(*) from departures") == 1
    assert await waiting(runtime, organization) == []


async def test_nobody_is_added_while_the_departure_waits(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    await join(provider, mara)
    await close_brake(runtime, organization)
    await delete(provider, NAME)
    with pytest.raises(DeparturePending):
        await departures.check_decided(runtime.work(OPERATOR), organization, mara.email.upper())
    async with runtime.transaction(OPERATOR) as work:
        await departures.reject(work, organization, (await departures.list_held(work, organization))[0])
    await departures.check_decided(runtime.work(OPERATOR), organization, mara.email)


async def test_the_operators_removal_decides_what_waits(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    await join(provider, mara)
    await book_one(runtime)
    await close_brake(runtime, organization)
    await take([patch(OFF)], provider)
    async with runtime.transaction(OPERATOR) as work:
        await departures.remove_as_operator(work, organization, mara)

    assert await statuses(runtime, mara) == ["CANCELLED"]
    assert await waiting(runtime, organization) == []


async def add_hosts(runtime: Runtime, count: int, password_hash: str) -> list[str]:
    """Open accounts that the organization manages and that no provider has created."""
    async with runtime.transaction(OPERATOR) as work:
        for number in range(count):
            wanted = UserWanted(email=f"o{number}@{DOMAIN}", name="O", username=f"o{number}")
            await people.welcome_user(work, wanted, password_hash=password_hash)
    return [f"o{number}@{DOMAIN}" for number in range(count)]


@pytest.mark.parametrize("pair", [("PATCH", "PATCH"), ("PATCH", "DELETE"), ("PATCH", "POST"), ("POST", "DELETE")])
async def test_of_two_departures_at_the_edge_one_waits(
    provider: Provider, runtime: Runtime, organization: Organization, pair: tuple[str, str], password_hash: str
) -> None:
    emails = await add_hosts(runtime, 2, password_hash)
    for way, email in zip(pair, emails, strict=True):
        await take(WAYS[way][:-1], provider, email)
    for member_id in (await crowd(provider, 9))[:4]:
        await provider.patch(member_id, SUSPEND_AS_TEXT)
    async with lock_held(runtime, LOCK, organization.id, waiting=2):
        begun = [
            asyncio.create_task(take(WAYS[way][-1:], provider, email)) for way, email in zip(pair, emails, strict=True)
        ]
    await asyncio.gather(*begun)

    assert len(await waiting(runtime, organization)) == 1
    assert await runtime.pool.fetchval("select count(*) from departures") == 6


async def removed_leaver(provider: Provider, runtime: Runtime, mara: User, organization: Organization) -> None:
    await join(provider, mara)
    await book_one(runtime)
    await close_brake(runtime, organization)
    await delete(provider, NAME)


@pytest.mark.parametrize("first", ["decision", "provider"])
@pytest.mark.parametrize("approved", [True, False], ids=["approved", "rejected"])
@pytest.mark.parametrize("sent", [False, True], ids=["active: false", "active: true"])
async def test_a_decision_and_a_post_at_the_same_moment(
    provider: Provider,
    runtime: Runtime,
    mara: User,
    organization: Organization,
    *,
    first: str,
    approved: bool,
    sent: bool,
) -> None:
    await removed_leaver(provider, runtime, mara, organization)

    async def decided() -> bool:
        try:
            await decide_one(runtime, organization, mara, approved=approved)
        except HeldDepartureNotFound:
            return False
        return True

    async def posted() -> int:
        return (await provider.send("POST", "/Users", {"userName": NAME, "active": sent})).status_code

    decision, answer = await in_order(runtime, mara, decided, posted, is_first=first == "decision")

    held = [each.email for each in await waiting(runtime, organization)]
    if sent:
        # Whoever comes second finds that it is over; nothing waits, and a booking is lost only by an approval.
        assert held == []
    if decision and approved:
        assert await statuses(runtime, mara) == ["CANCELLED"]
    else:
        assert await statuses(runtime, mara) == ["CONFIRMED"]
    # A rejection restores the member, so that a later POST finds one; nobody is a member twice.
    assert answer == (409 if first == "decision" and not approved else 201)
    assert await runtime.pool.fetchval("select count(*) from memberships where user_id = $1", mara.id) == 1


@pytest.mark.parametrize("first", ["decision", "provider"])
async def test_active_true_and_an_approval_at_the_same_moment(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization, first: str
) -> None:
    member_id = await join(provider, mara)
    await book_one(runtime)
    await close_brake(runtime, organization)
    await take([patch(OFF)], provider)

    async def decided() -> bool:
        try:
            await decide_one(runtime, organization, mara, approved=True)
        except HeldDepartureNotFound:
            return False
        return True

    async def patched() -> int:
        return (await provider.patch(member_id, {**OFF, "value": True})).status_code

    decision, answer = await in_order(runtime, mara, decided, patched, is_first=first == "decision")

    assert answer == 200
    assert decision is (first == "decision")
    assert await statuses(runtime, mara) == (["CANCELLED"] if decision else ["CONFIRMED"])
    assert await is_open(runtime, mara)
    assert await waiting(runtime, organization) == []


async def decide_one(runtime: Runtime, organization: Organization, user: User, *, approved: bool) -> None:
    """Decide as the page does: the host's lock, then what waits."""
    async with runtime.transaction(OPERATOR) as work:
        held = await departures.get_held(work, organization.id, user.id)
        await (departures.approve if approved else departures.reject)(work, organization, held)


async def in_order(
    runtime: Runtime,
    host: User,
    decided: Callable[[], Awaitable[bool]],
    sent: Callable[[], Awaitable[int]],
    *,
    is_first: bool,
) -> tuple[bool, int]:
    """Let both wait for the host's lock, one behind the other, and then go on."""
    async with lock_held(runtime, "select pg_advisory_xact_lock(1, $1::bigint::int)", host.no, waiting=2):
        if is_first:
            decision = asyncio.ensure_future(decided())
            await until_waiting(runtime, 1)
            answer = asyncio.ensure_future(sent())
        else:
            answer = asyncio.ensure_future(sent())
            await until_waiting(runtime, 1)
            decision = asyncio.ensure_future(decided())
    return await decision, await answer
