"""Whoever joins a SCIM group hosts the bookings of its team, and whoever is removed gives them away."""

import asyncio
from datetime import timedelta
from uuid import UUID

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import Organization
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.people import team_leavers
from openslot.domains.schedules import operations as schedules
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import GroupWanted, TeamRules
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.doors.scim.groups import create, members_of, patch, send, users
from tests.support.provisioning import DOMAIN, Provider
from tests.support.teams import book_team, list_hosts

__all__ = ["users"]


async def offer(runtime: Runtime, organization: Organization, group_id: str) -> EventType:
    """Add an event type that everybody of a team hosts in turn."""
    async with runtime.transaction(OPERATOR) as work:
        team = await teams.get_team(work, organization.id, UUID(group_id))
        owner = await accounts.get_user_by_email(work, f"u2@{DOMAIN}")
        schedule, *_ = await schedules.list_schedules(work, owner)
        wanted = event_types.draft_event_type(work, schedule, name="Demo", slug="demo", duration_minutes=30)
        return await hosting.add_team_event_type(
            work, team, owner, wanted, groups=[GroupWanted(filter={})], rules=TeamRules(event_type_id=new_id())
        )


async def test_a_group_is_a_team_whose_joiners_are_booked_and_whose_leavers_are_not(
    provider: Provider, users: list[str], runtime: Runtime, organization: Organization
) -> None:
    first, second, _ = users
    made = await create(provider, "Sales", first)
    team = await teams.get_team(runtime.work(OPERATOR), organization.id, UUID(made["id"]))
    assert (team.slug, team.name) == ("sales", "Sales")
    event_type = await offer(runtime, organization, made["id"])

    async def hosts() -> list[str]:
        return [each.email for each in await hosting.list_group_members(runtime.work(OPERATOR), event_type.id)]

    assert await hosts() == [f"u0@{DOMAIN}"]
    await patch(provider, made["id"], {"op": "add", "path": "members", "value": [{"value": second}]})
    assert await hosts() == [f"u0@{DOMAIN}", f"u1@{DOMAIN}"]
    await patch(provider, made["id"], {"op": "remove", "path": f'members[value eq "{first}"]'})
    assert await hosts() == [f"u1@{DOMAIN}"]
    await provider.patch(second, {"op": "replace", "path": "active", "value": False})
    assert await hosts() == []
    assert await members_of(provider, made["id"]) == {second}
    await provider.patch(second, {"op": "replace", "path": "active", "value": True})
    assert await hosts() == [f"u1@{DOMAIN}"]
    await provider.send("DELETE", f"/Users/{second}")
    assert await hosts() == []
    assert await members_of(provider, made["id"]) == set()


async def test_bookings_of_who_is_removed_go_to_others_and_stay_if_nobody_is_left(
    provider: Provider, users: list[str], runtime: Runtime, organization: Organization
) -> None:
    first, second, third = users
    made = await create(provider, "Sales", first, second)
    event_type = await offer(runtime, organization, made["id"])
    now = runtime.clock()
    at = (now + timedelta(days=14 - now.weekday())).replace(hour=10, minute=0, second=0, microsecond=0)
    booking = await book_team(runtime, event_type, at)
    (host,) = await list_hosts(runtime, booking.id)
    accounts_ = await runtime.pool.fetch("select id, user_id from memberships")
    user_of = {str(row["id"]): row["user_id"] for row in accounts_}
    leaver, other = (first, second) if user_of[first] == host else (second, first)

    answer = await patch(provider, made["id"], {"op": "Remove", "path": "members", "value": [{"value": leaver}]})
    assert answer.status_code == 200
    assert await list_hosts(runtime, booking.id) == [user_of[other]]
    assert await runtime.pool.fetchval("select sum(credit) from host_group_members") == 0

    # Nobody stays who could take it: a group that was emptied by mistake costs no booking.
    await patch(provider, made["id"], {"op": "Remove", "path": "members"})
    assert await members_of(provider, made["id"]) == set()
    assert await list_hosts(runtime, booking.id) == [user_of[other]]
    assert await runtime.pool.fetchval("select sum(credit) from host_group_members") == 0
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))

    await patch(provider, made["id"], {"op": "Add", "path": "members", "value": [{"value": third}]})
    again = await book_team(runtime, event_type, at)
    await send(provider, "DELETE", f"/Groups/{made['id']}", status=204)
    status = "select status from bookings where id = $1"
    assert await runtime.pool.fetchval(status, again.id) == "CONFIRMED"
    async with runtime.transaction(OPERATOR) as work:
        await team_leavers.delete_team(work, await teams.get_team(work, organization.id, UUID(made["id"])))
    assert await runtime.pool.fetchval(status, again.id) == "CANCELLED"
    assert not await runtime.pool.fetchval("select active from event_types where id = $1", event_type.id)


async def test_a_group_that_is_deleted_by_mistake_keeps_its_bookings_and_is_what_it_was_if_it_is_created_again(
    provider: Provider, users: list[str], runtime: Runtime, organization: Organization
) -> None:
    made = await create(provider, "Sales", *users[:2])
    event_type = await offer(runtime, organization, made["id"])
    (booked,) = await fill(runtime, event_type, 1)
    hosts = await list_hosts(runtime, booked.id)

    answer = await provider.send("DELETE", f"/Groups/{made['id']}")

    assert answer.status_code == 204
    assert "upcoming bookings: 1" in answer.headers["x-notice"]
    await send(provider, "GET", f"/Groups/{made['id']}", status=404)
    await send(provider, "DELETE", f"/Groups/{made['id']}", status=404)
    await send(provider, "PUT", f"/Groups/{made['id']}", {"displayName": "Sales"}, status=404)
    assert (await send(provider, "GET", "/Groups"))["totalResults"] == 0
    assert await list_hosts(runtime, booked.id) == hosts
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"
    assert await hosting.list_group_members(runtime.work(OPERATOR), event_type.id) == []

    again = await create(provider, "SALES", users[2])
    assert again["id"] == made["id"]
    assert await members_of(provider, made["id"]) == {users[2]}
    assert [each.email for each in await hosting.list_group_members(runtime.work(OPERATOR), event_type.id)] == [
        f"u2@{DOMAIN}"
    ]
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booked.id, None))
    await send(provider, "DELETE", f"/Groups/{made['id']}", status=204)
    assert await runtime.pool.fetchval("select count(*) from teams") == 0


async def fill(runtime: Runtime, event_type: EventType, count: int) -> list[Booking]:
    """Book so many meetings, each at a time of its own, in a later week."""
    now = runtime.clock()
    at = (now + timedelta(days=14 - now.weekday())).replace(hour=9, minute=0, second=0, microsecond=0)
    return [await book_team(runtime, event_type, at + timedelta(minutes=30 * number)) for number in range(count)]


async def test_many_who_are_removed_at_once_keep_their_bookings_until_they_leave(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    ids = [(await provider.create(f"u{n}@{DOMAIN}", displayName=f"User {n}"))["id"] for n in range(9)]
    made = await create(provider, "Sales", *ids)
    event_type = await offer(runtime, organization, made["id"])
    booked = await fill(runtime, event_type, 9)
    hosts = [await list_hosts(runtime, each.id) for each in booked]
    assert len({host for (host,) in hosts}) == 9
    left = [{"value": each} for each in ids[:6]]

    answer = await patch(provider, made["id"], {"op": "Remove", "path": "members", "value": left})

    assert answer.status_code == 200
    assert await members_of(provider, made["id"]) == set(ids[6:])
    assert [await list_hosts(runtime, each.id) for each in booked] == hosts
    assert "they still host 6 upcoming bookings" in answer.headers["x-notice"]
    detail = "select detail from scim_requests where method = 'PATCH' and path like '%Groups%'"
    for _ in range(500):
        if said := await runtime.pool.fetchval(detail):
            break
        await asyncio.sleep(0.02)
    assert said == answer.headers["x-notice"]
    # The next one within the hour is one too many as well; those who come back are as before.
    await patch(provider, made["id"], {"op": "Remove", "path": "members", "value": [{"value": ids[6]}]})
    assert [await list_hosts(runtime, each.id) for each in booked] == hosts
    await patch(provider, made["id"], {"op": "Add", "path": "members", "value": left})
    assert len(await members_of(provider, made["id"])) == 8

    # Who leaves the organization, or is removed by hand, gives everything away.
    gone = await runtime.pool.fetchval("select user_id from memberships where id = $1", UUID(ids[6]))
    await provider.send("DELETE", f"/Users/{ids[6]}")
    now = [await list_hosts(runtime, each.id) for each in booked]
    assert [gone] not in now
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CANCELLED'") == 0


async def test_a_few_who_are_removed_give_their_bookings_away(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    ids = [(await provider.create(f"u{n}@{DOMAIN}", displayName=f"User {n}"))["id"] for n in range(9)]
    made = await create(provider, "Sales", *ids)
    event_type = await offer(runtime, organization, made["id"])
    booked = await fill(runtime, event_type, 9)
    left = [{"value": each} for each in ids[:5]]
    gone = await runtime.pool.fetch("select user_id from memberships where id = any($1)", [UUID(e) for e in ids[:5]])

    await patch(provider, made["id"], {"op": "Remove", "path": "members", "value": left})

    hosts = {host for each in booked for host in await list_hosts(runtime, each.id)}
    assert hosts.isdisjoint(row["user_id"] for row in gone)
