"""A team, an event type that several people host, and bookings of it: made, handed over, moved and cancelled."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings import store
from openslot.domains.bookings.events import BookingCreated, BookingReassigned
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.domains.contacts import operations as contacts
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.domains.teams.models import BookingHost, HostRole
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work

TEAM, OFFER = "Sales", "Demo"


async def add_people(runtime: Runtime, *names: str, zone: str = "UTC") -> list[User]:
    """Open an account for each, whose address begins with the name."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = (
            UserWanted(email=f"{name.lower()}@team.example", name=name, username=name.lower(), plan=Plan.PRO, zone=zone)
            for name in names
        )
        return [await people.welcome_user(work, each, password_hash=None) for each in wanted]


async def offer_as_team(runtime: Runtime, owner: User, *, slug: str = "demo") -> EventType:
    """Let a team have an event type of half an hour, whose owner need not host it."""
    async with runtime.transaction(OPERATOR) as work:
        schedule, *_ = await schedules.list_schedules(work, owner)
        draft = event_types.draft_event_type(work, schedule, name=OFFER, slug=slug, duration_minutes=30)
        made = await event_types.add_event_type(work, schedule, draft)
        organization_id, team_id = new_id(), new_id()
        await work.db.execute(
            """insert into organizations (id, name, slug, created_at, updated_at)
            values ($1, 'Acme', $2, $3, $3)""",
            organization_id,
            f"acme-{slug}",
            work.now,
        )
        await work.db.execute(
            """insert into teams (id, organization_id, name, slug, zone, created_at, updated_at)
            values ($1, $2, $3, $4, 'UTC', $5, $5)""",
            team_id,
            organization_id,
            TEAM,
            f"sales-{slug}",
            work.now,
        )
        await work.db.execute("insert into team_rules (event_type_id) values ($1)", made.id)
        await work.db.execute("update event_types set team_id = $2 where id = $1", made.id, team_id)
        return made


async def join(runtime: Runtime, event_type: EventType, users: Sequence[User]) -> None:
    """Let people be members of the organization whose team has an event type."""
    await runtime.pool.execute(
        """insert into memberships (id, organization_id, user_id, created_at, updated_at)
        select gen_random_uuid(), t.organization_id, u.id, now(), now() from unnest($2::uuid[]) as u (id),
            event_types e join teams t on t.id = e.team_id where e.id = $1""",
        event_type.id,
        [each.id for each in users],
    )


def name_hosts(hosts: Sequence[User]) -> tuple[BookingHost, ...]:
    """Name hosts as events do, the organizer first."""
    return tuple(
        BookingHost(user_id=each.id, name=each.name, role=HostRole.HOST if place else HostRole.ORGANIZER)
        for place, each in enumerate(hosts)
    )


async def book_with(
    runtime: Runtime,
    event_type: EventType,
    hosts: Sequence[User],
    starts_at: datetime,
    *,
    guests: tuple[str, ...] = (),
    locale: str | None = None,
    actor: Actor = PUBLIC,
) -> Booking:
    """Book a team's event type with these hosts, the organizer first."""
    async with runtime.transaction(actor) as work:
        claims = [await _claim(work, event_type, each, starts_at) for each in hosts]
        contact = await contacts.find_or_add_contact(
            work, owner_id=event_type.owner_id, name="Jonas Okafor", email="jonas@okafor.example", phone=None
        )
        booking = Booking(
            id=new_id(),
            host_id=event_type.owner_id,
            event_type_id=event_type.id,
            contact_id=contact.id,
            claim_id=claims[0],
            seat_id=None,
            status=Status.CONFIRMED,
            starts_at=starts_at,
            ends_at=starts_at + timedelta(minutes=30),
            invitee_name="Jonas Okafor",
            invitee_email="jonas@okafor.example",
            invitee_zone="Africa/Lagos",
            invitee_locale=locale,
            notes=None,
            location=event_type.location,
            answers={},
            guests=guests,
            payment=None,
            created_at=work.now,
            updated_at=work.now,
        )
        work.stage(store.insert_booking(booking, source=None))
        await work.record(
            BookingCreated(
                booking=booking,
                event_type=event_type,
                contact=contact,
                base_url=work.runtime.settings.public_url,
                hosts=name_hosts(hosts),
            )
        )
        await _keep_hosts(work, booking.id, hosts, claims)
        return booking


async def hand_over(runtime: Runtime, booking: Booking, hosts: Sequence[User], *, reason: str | None = None) -> Booking:
    """Let these people host a booking instead."""
    async with runtime.transaction(OPERATOR) as work:
        details = await bookings.get_booking(work, BookingRef(booking.id, None))
        before = details.hosts
        await work.db.execute("delete from booking_hosts where booking_id = $1", booking.id)
        claims = [await _claim(work, details.event_type, each, details.booking.starts_at) for each in hosts]
        await _keep_hosts(work, booking.id, hosts, claims)
        moved = replace(details.booking, claim_id=claims[0], sequence=details.booking.sequence + 1, updated_at=work.now)
        work.stage(store.update_moved(moved))
        await work.record(_tell(work, replace(details, booking=moved), hosts, before, reason))
        return moved


def _tell(
    work: Work, details: BookingDetails, hosts: Sequence[User], before: tuple[BookingHost, ...], reason: str | None
) -> BookingReassigned:
    return BookingReassigned(
        booking=details.booking,
        event_type=details.event_type,
        contact=details.contact,
        base_url=work.runtime.settings.public_url,
        hosts=name_hosts(hosts),
        previous_hosts=before,
        reason=reason,
    )


async def _claim(work: Work, event_type: EventType, host: User, starts_at: datetime) -> UUID:
    claim_id = new_id()
    await work.db.execute(
        """insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, created_at)
        select $1, no, 'booking', $3, $4, $5, tstzrange($4, $5), $6 from users where id = $2
        on conflict do nothing""",
        claim_id,
        host.id,
        event_type.id,
        starts_at,
        starts_at + timedelta(minutes=30),
        work.now,
    )
    found: UUID = await work.db.fetchval(
        "select c.id from claims c join users u on u.no = c.host_no where u.id = $1 and c.starts_at = $2 and c.active",
        host.id,
        starts_at,
    )
    return found


async def _keep_hosts(work: Work, booking_id: UUID, hosts: Sequence[User], claims: Sequence[UUID]) -> None:
    for each, claim_id in zip(name_hosts(hosts), claims, strict=True):
        await work.db.execute(
            "insert into booking_hosts (booking_id, user_id, claim_id, role) values ($1, $2, $3, $4)",
            booking_id,
            each.user_id,
            claim_id,
            each.role,
        )
