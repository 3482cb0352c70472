"""A team whose members host an event type together, and ways to book it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.models import ById, Hold
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import BookedSeries, OnConflict, Recurrence
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime


class HostedTeam(Struct, frozen=True, kw_only=True):
    """A team of an organization with an event type; its owner does not host it."""

    organization: Organization
    id: UUID
    owner: User
    hosts: tuple[User, ...]
    event_type: EventType


async def open_team(
    runtime: Runtime,
    hosts: int = 3,
    *,
    groups: Sequence[tuple[int, Sequence[int]]] = (),
    owner: User | None = None,
    **changes: Any,
) -> HostedTeam:
    """Open a team; each group is how many are picked of which hosts, and without any one of all is picked.

    Changes are of its rules or of its event type.
    """
    owner = owner or await open_account(runtime, "Owner")
    members = tuple([await open_account(runtime, f"Host {number}") for number in range(hosts)])
    async with runtime.transaction(OPERATOR) as work:
        slug = str(new_id())
        organization = await organizations.add_organization(work, name="Harbor", slug=slug, plan=Plan.BUSINESS)
        for user in (owner, *members):
            await add_organization_member(work, organization, user)
        team_id = new_id()
        await work.db.execute(
            """insert into teams (id, organization_id, name, slug, zone, created_at, updated_at)
            values ($1, $2, $3, $3, 'UTC', $4, $4)""",
            team_id,
            organization.id,
            slug,
            work.now,
        )
        for user in members:
            await work.db.execute(
                "insert into team_members (team_id, user_id, joined_at) values ($1, $2, $3)", team_id, user.id, work.now
            )
    event_type = await offer(runtime, team_id, owner, members, groups or [(1, range(hosts))], **changes)
    return HostedTeam(organization=organization, id=team_id, owner=owner, hosts=members, event_type=event_type)


RULES = (
    *("balance", "max_lead", "picks_anew", "replaces_leavers", "counts_no_shows", "counts_host_cancellations"),
    *("host_per_day", "host_per_week", "host_total_per_day", "host_total_per_week"),
)


async def offer(
    runtime: Runtime,
    team_id: UUID,
    owner: User,
    members: Sequence[User],
    groups: Sequence[tuple[int, Sequence[int]]],
    **changes: Any,
) -> EventType:
    """Add an event type of a team."""
    rules = {name: changes.pop(name) for name in RULES if name in changes}
    async with runtime.transaction(OPERATOR) as work:
        schedule, *_ = await schedules.list_schedules(work, owner)
        slug = changes.pop("slug", f"t{new_id().hex[-12:]}")
        draft = event_types.draft_event_type(work, schedule, name="Team", slug=slug, duration_minutes=30)
        made = await event_types.add_event_type(work, schedule, replace(draft, **changes))
        await work.db.execute("update event_types set team_id = $2 where id = $1", made.id, team_id)
        names = "".join(f", {name}" for name in rules)
        places = "".join(f", ${place}" for place, _ in enumerate(rules, 2))
        await work.db.execute(
            f"insert into team_rules (event_type_id{names}) values ($1{places})", made.id, *rules.values()
        )
        for position, (pick, places_) in enumerate(groups):
            group_id = new_id()
            await work.db.execute(
                "insert into host_groups (id, event_type_id, position, pick) values ($1, $2, $3, $4)",
                group_id,
                made.id,
                position,
                pick,
            )
            await work.db.executemany(
                "insert into host_group_members (group_id, user_id, listed) values ($1, $2, true)",
                [(group_id, members[place].id) for place in places_],
            )
    return replace(made, team_id=team_id)


async def open_account(runtime: Runtime, name: str) -> User:
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email=f"{new_id()}@host.example", name=name, username=f"h{new_id().hex[-20:]}")
        return await people.welcome_user(work, wanted)


async def book_team(runtime: Runtime, event_type: EventType, at: datetime, **more: Any) -> Booking:
    async with runtime.transaction(PUBLIC) as work:
        invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
        wanted = BookingWanted(**{"which": ById(event_type.id), "starts_at": at, "invitee": invitee, **more})
        return await bookings.create_booking(work, wanted)


async def book_weeks(
    runtime: Runtime, event_type: EventType, at: datetime, *, weeks: int = 4, **more: Any
) -> BookedSeries:
    """Book a time in several weeks in a row."""
    on_conflict = more.pop("on_conflict", OnConflict.REFUSE)
    invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
    wanted = BookingWanted(**{"which": ById(event_type.id), "starts_at": at, "invitee": invitee, **more})
    async with runtime.transaction(PUBLIC) as work:
        return await series.create_series(work, wanted, Recurrence(weeks=weeks, on_conflict=on_conflict))


async def hold_team(runtime: Runtime, event_type: EventType, at: datetime, *, holder: str | None = None) -> Hold:
    async with runtime.transaction(PUBLIC) as work:
        return await claims.hold_slot(work, ById(event_type.id), at, holder=holder or str(new_id()))


async def list_hosts(runtime: Runtime, booking_id: UUID) -> list[UUID]:
    """List who hosts a booking, the organizer first; each has a claim of their own that takes its time."""
    rows = await runtime.pool.fetch(
        """select h.user_id,
            c.active and c.host_no = u.no and (c.starts_at, c.ends_at) = (b.starts_at, b.ends_at) as taken
        from booking_hosts h join bookings b on b.id = h.booking_id join claims c on c.id = h.claim_id
        join users u on u.id = h.user_id where b.id = $1 order by h.role = 'host', u.no""",
        booking_id,
    )
    assert all(row["taken"] for row in rows)
    return [row["user_id"] for row in rows]


async def book_alone(runtime: Runtime, host: User, at: datetime) -> Booking:
    """Book a host by an event type of their own."""
    event_type_id = await runtime.pool.fetchval(
        "select id from event_types where owner_id = $1 and team_id is null limit 1", host.id
    )
    async with runtime.transaction(PUBLIC) as work:
        invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
        return await bookings.create_booking(
            work, BookingWanted(which=ById(event_type_id), starts_at=at, invitee=invitee)
        )


async def list_credits(runtime: Runtime, team: HostedTeam) -> list[int]:
    """List the credit of each host in all groups of the event type."""
    rows = await runtime.pool.fetch(
        """select coalesce(sum(m.credit), 0)::bigint as credit from users u
        left join (host_group_members m join host_groups g on g.id = m.group_id and g.event_type_id = $2)
            on m.user_id = u.id where u.id = any($1) group by u.no order by u.no""",
        [each.id for each in team.hosts],
        team.event_type.id,
    )
    return [row["credit"] for row in rows]
