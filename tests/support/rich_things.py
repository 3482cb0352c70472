"""Something of a furnished account for every id that a path takes."""

import re
from collections.abc import Collection
from datetime import date, datetime, timedelta
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.event_types.models import EventType
from openslot.domains.exports import operations as exports
from openslot.domains.exports.archives import make_export
from openslot.domains.schedules import operations as schedules
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.rich_account import KINDS, ROWS, TEN, furnish, insert

# Where the ids of a parameter are; with a path or its beginning, for parameters that mean several things.
TABLES = {
    "approval_id": "assistant_approvals",
    "away_id": "out_of_office",
    "booking_id": "bookings",
    "/bookings/requests booking_id": "bookings",
    "/bookings/{booking_id}/hand-over booking_id": "bookings",
    "call_id": "calls",
    "contact_id": "contacts",
    "conversation_id": "conversations",
    "delivery_id": "webhook_deliveries",
    "effect_id": "effects",
    "endpoint_id": "webhook_endpoints",
    "entry_id": "wait_list_entries",
    "event_type_id": "event_types",
    "export_id": "data_exports",
    "grant_id": "assistant_grants",
    "import_id": "contact_imports",
    "key_id": "api_keys",
    "link_id": "booking_links",
    "message_id": "messages",
    "payment_id": "payments",
    "schedule_id": "schedules",
    "session_id": "sessions",
    "/settings/calendars connection_id": "calendar_connections",
    "/settings/crm connection_id": "crm_connections",
    "/settings/messages connection_id": "messaging_connections",
}
# These name something inside of what an id names, and everyone may write them.
OTHERS = {"day": "2026-03-18", "position": "0"}
# Rows of a furnished account that are inside of something else: an event type's, and others.
OF_EVENT_TYPE = re.compile(r"insert into (booking_links|wait_list_entries) ")
INNER = re.compile(r"insert into (booking_links|conversations|messages|wait_list_entries|webhook_deliveries) ")
# What the furnished account lacks for its host to do everything: an approval that is open, a HubSpot, somebody who may
# be written to, files at a provider, and steps that have failed.
MENDED = """
update assistant_approvals set expires_at = expires_at + interval '1 day';
update crm_connections set vendor = 'hubspot';
delete from message_opt_outs;
update calls set recording = 'x', connection_id = (select id from messaging_connections);
update messages set connection_id = (select id from messaging_connections);
update effects set state = 'dead', attempts = 10 where event_id is not null
"""
STEP = "select f.id from effects f join events v on v.id = f.event_id where v.subject_id = $1 limit 1"


async def make_one_of_each(runtime: Runtime, user: User) -> dict[str, str]:
    """Furnish an account, and find something of it for every parameter."""
    of_team = await furnish(runtime, user)
    own = await offer(runtime, user, "own")
    booking = await book(runtime, own, TEN + timedelta(days=3))
    await add_rows(runtime, user, booking, rows=OF_EVENT_TYPE)
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    request = await book(runtime, asked, TEN + timedelta(days=4))
    async with runtime.transaction(OPERATOR) as work:
        export_id = await exports.request_data_export(work, user)
        schedule, *_ = await schedules.list_schedules(work, user)
        day = date.fromisoformat(OTHERS["day"])
        await schedules.add_schedule_overrides(work, user, schedule.id, first=day, last=day, hours=())
    await make_export(runtime, export_id)
    await runtime.pool.execute(MENDED)
    return {
        **await find_ids(runtime, user),
        "booking_id": str(booking.id),
        "/bookings/requests booking_id": str(request.id),
        "/bookings/{booking_id}/hand-over booking_id": str(of_team.id),
        "effect_id": str(await runtime.pool.fetchval(STEP, booking.id)),
        "event_type_id": str(own.id),
        "link_id": str(await runtime.pool.fetchval("select id from booking_links where event_type_id = $1", own.id)),
        "entry_id": str(
            await runtime.pool.fetchval("select id from wait_list_entries where event_type_id = $1", own.id)
        ),
    }


async def book(runtime: Runtime, event_type: EventType, start: datetime) -> Booking:
    invitee = Invitee(name="Noor Haddad", email="noor@haddad.example", zone="UTC")
    async with runtime.transaction(PUBLIC) as work:
        wanted = BookingWanted(which=ById(event_type.id), starts_at=start, invitee=invitee)
        return await bookings.create_booking(work, wanted)


async def add_rows(runtime: Runtime, host: User, booking: Booking, *, rows: re.Pattern[str]) -> None:
    """Insert some of the rows of a furnished account, about another booking."""
    async with runtime.transaction(OPERATOR) as work:
        endpoint, _ = await webhooks.add_endpoint(work, host, EndpointWanted(url="http://127.0.0.1:9/hook"))
    event_id = await runtime.pool.fetchval("select id from events where subject_id = $1", booking.id)
    values = (host.id, None, booking.id, runtime.clock(), event_id, None, None, endpoint.id)
    given = dict(zip(KINDS, values, strict=True))
    for row in filter(rows.match, ROWS):
        secret = f"another secret of {host.name}".encode()
        await insert(runtime, row, {**given, "$2": new_id(), "$9": secret})


async def find_ids(runtime: Runtime, owner: User, names: Collection[str] = TABLES.keys()) -> dict[str, str]:
    """Find something of an account for every parameter."""
    found: dict[str, str] = dict(OTHERS)
    for key in names:
        table = TABLES[key]
        column = await runtime.pool.fetchval(
            """select attname from pg_attribute where attrelid = $1::text::regclass
            and attname in ('owner_id', 'user_id', 'host_id', 'tenant_id') limit 1""",
            table,
        )
        own = f"where {column} = '{owner.id}'" if column else ""
        row = await runtime.pool.fetchval(f"select id from {table} {own} order by id limit 1")
        assert isinstance(row, UUID), table
        found[key] = str(row)
    return found
