"""A user of whom every table has something, with a mark in everything that is secret."""

from uuid import UUID

from openslot.domains.access import operations as access
from openslot.domains.accounts.invitations.operations import make_invitation
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.calendars import booking_events
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY

SECRET = "this-is-a-secret"
KINDS = {f"${place}": "timestamptz" if place == 4 else "uuid" for place in range(1, 9)}
TEN = MONDAY.replace(hour=10)
# One row each, for tables whose verbs need another service or much time: $1 is the user, $2 a new id, $3 a booking,
# $4 the time, $5 an event, $6 a connection, $7 a calendar, $8 an endpoint, $9 a secret.
ROWS = (
    """insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, created_at, lease)
    values ($6, $1, 'caldav', 'dav.example', 'mara at dav.example', $9, $4, $4, $2)""",
    """insert into oauth_grants (id, owner_id, vendor, secret, scopes, state, expires_at, created_at)
    values ($6, $1, 'google', $9, '{calendar}', 'ok', $4, $4)""",
    """insert into oauth_attempts (state_hash, user_id, session_id, vendor, verifier, expires_at)
    values ($9, $1, $2, 'google', $9, $4)""",
    """insert into calendars (id, connection_id, owner_id, url, name, can_write, is_busy, receives)
    values ($7, $6, $1, 'https://dav.example/secret-path', 'Work', true, true, true)""",
    """insert into calendar_channels (id, connection_id, calendar_id, token_hash, expires_at, renew_at, created_at)
    values ($2, $6, $7, $9, $4, $4, $4)""",
    "insert into calendar_objects values ($7, 'a.ics', 'e', 'u', false, false, 'text')",
    """insert into calendar_events (booking_id, calendar_id, href, etag, sequence, starts_at, ends_at)
    values ($3, $7, 'b.ics', 'e', 0, $4, $4 + interval '1 hour')""",
    "insert into calendar_invitations (booking_id, calendar_id) values ($3, $7)",
    "insert into busy_sources (id, host_no, name) select $7, no, 'Work' from users where id = $1",
    """insert into busy_spans (host_no, source, uid, during, source_id)
    select no, 'Work', 'u', tstzrange($4, $4 + interval '1 hour'), $7 from users where id = $1""",
    "insert into out_of_office values ($2, $1, $4, $4 + interval '1 day', 'Away', $4)",
    """insert into conversations (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
    values ($2, $1, '+493012345678', 'sms', $4, $4, $4)""",
    """insert into messages (id, conversation_id, content, direction, status, at, created_at)
    select gen_random_uuid(), id, 'Could we meet later?', 'inbound', 'received', $4, $4 from conversations
    where owner_id = $1""",
    """insert into calls (id, owner_id, direction, caller_phone, agent_name, started_at, ended_at, status, created_at,
    updated_at) values ($2, $1, 'inbound', '+493012345678', 'Reception', $4, $4, 'completed', $4, $4)""",
    "insert into brands (id, user_id, name, updated_at) values ($2, $1, 'Lindqvist Studio', $4)",
    "insert into reminder_settings values ($2, $1, null, '{60}', $4, '[{\"minutes\": 60}]')",
    "insert into flag_overrides values ('mail_reminders', $1, false, $4)",
    "insert into page_views (host_id, on_day, source, views) values ($1, $4::date, 'direct', 3)",
    "insert into booking_history values ($3, 1, 'booking.created', $4, '{\"kind\": \"public\"}')",
    """insert into webhook_deliveries (id, endpoint_id, event_id, effect_id, attempt, at, url, request_headers, status,
    answer, duration_ms) values ($2, $8, $5, $2, 1, $4, 'https://hooks.example/x',
    '{"webhook-signature": "this-is-a-secret"}', 200, $9, 12)""",
    "insert into webhook_messages (event_id, sealed, kept_since) values ($5, $9, $4) on conflict do nothing",
    """insert into mail_messages (id, kind, role, host_id, booking_id, recipient, subject, is_public, status,
    created_at, sent_at) values ($2, 'notice', 'host', $1, null, 'mara', 'A notice', false, 'sent', $4, $4)""",
    """insert into former_usernames (name_hash, user_id, name, left_at, reserved_until)
    values ('hash', $1, 'lindqvist', $4, $4 + interval '180 days')""",
    "insert into allowance_refusals values ($1, 'mail', 'account', 1, 20, $4, $4)",
    "insert into mail_limits_reached values ($1, 'guests', $4, $4)",
    "insert into notification_choices values ($1, 'booking.created', false, $4)",
    "insert into photos values ($1, 'abc', 'image', $4)",
    "insert into brand_images values ($1, 'logo', 'abc', 60, 40, 'image', $4)",
    "insert into identities values ('https://id.example', 'mara-at-id', $1, $4)",
    "insert into authenticators (id, user_id, secret, created_at, confirmed_at) values ($2, $1, $9, $4, $4)",
    """insert into messaging_connections (id, user_id, provider, channel, number, account, token, connected_at)
    values ($2, $1, 'twilio', 'sms', '+493022222222', 'AC1', $9, $4)""",
    """insert into crm_connections (id, owner_id, vendor, account, label, secret, connected_at)
    values ($2, $1, 'webhook', 'https://crm.example/lindqvist', 'crm.example', $9, $4)""",
    """insert into crm_meetings (booking_id, connection_id, meeting_id)
    select $3, id, 'okafor-1' from crm_connections where owner_id = $1""",
    """insert into call_notices (connection_id, call_id, sequence, received_at)
    select id, 'CA1', 0, $4 from messaging_connections where user_id = $1""",
    """insert into call_recordings (id, connection_id, call_id, ref, received_at)
    select $2, id, 'CA2', $9, $4 from messaging_connections where user_id = $1""",
    """insert into message_media (id, message_id, position, ref, content_type)
    select $2, m.id, 0, $9, 'image/png' from messages m join conversations c on c.id = m.conversation_id
    where c.owner_id = $1""",
    """insert into message_opt_outs (id, user_id, phone, opted_out_at, source)
    values ($2, $1, '+493012345678', $4, 'message')""",
    """insert into message_consents (id, host_id, phone, given_at, text, source, booking_id)
    values ($2, $1, '+493012345678', $4, 'Remind me by SMS', 'booking_page', $3)""",
    """insert into payment_connections (id, user_id, mode, key, key_ending, read_until, connected_at)
    values ($2, $1, 'test', $9, '4242', $4, $4)""",
    """insert into payment_notices (connection_id, id, type, created_at, received_at)
    select id, 'evt_1', 'refund.created', $4, $4 from payment_connections where user_id = $1""",
    """insert into payments (id, booking_id, host_id, mode, amount, currency, refund_policy, state, session_id,
    intent_id, expires_at, held_until, paid_at, refunded_amount, created_at, updated_at)
    values ($2, $3, $1, 'test', 4900, 'EUR', 'full', 'paid', 'cs_1', 'pi_1', $4, $4, $4, 900, $4, $4)""",
    """insert into refunds (id, payment_id, amount, reason, state, vendor_id, by, created_at, updated_at)
    select $2, id, 900, 'host', 'succeeded', 're_1', 'session', $4, $4 from payments where booking_id = $3""",
    "insert into revenue values ($1, $4::date, 'EUR', 'test', 4900, 900, 1)",
    """insert into subscribers (id, user_id, mode, plan, status, created_at, updated_at)
    values ($2, $1, 'test', 'PRO', 'canceled', $4, $4)""",
    """insert into assistant_grants (id, user_id, client_id, client_name, site, scopes, resource, hash, created_at,
    expires_at, ends_at) values ($6, $1, 'c', 'Assistant of Lindqvist', 'a.example', '{bookings:read}', 'r', $9, $4, $4,
    $4 + interval '1 day')""",
    """insert into assistant_calls (user_id, grant_id, client_name, at, tool, outcome, summary)
    values ($1, $6, 'Assistant of Lindqvist', $4, 'list_bookings', 'ok', '')""",
    """insert into assistant_approvals (id, user_id, grant_id, client_name, tool, arguments_hash, arguments, created_at,
    expires_at) values ($2, $1, $6, 'Assistant of Lindqvist', 'cancel_booking', 'x', $9, $4, $4)""",
    """insert into assistant_refresh_tokens (id, hash, grant_id, created_at, expires_at)
    select $2, $9, id, $4, $4 from assistant_grants where user_id = $1""",
    """insert into assistant_codes (id, hash, user_id, client_id, client_name, redirect_uri, site, scopes, resource,
    challenge, created_at, expires_at)
    values ($2, $9, $1, 'c', 'n', 'https://a.example/', 'a.example', '{}', 'r', 'x', $4, $4)""",
    "insert into recovery_codes values ($1, $9, $4)",
    "insert into pending_sign_ins values ($2, $1, $9, $9, $4, $4)",
    "insert into address_changes values ($2, $1, $9, 'mara2', 'mara', $9, $4, $4)",
    "insert into password_resets values ($2, $1, $9, 'mara', $9, $4, $4)",
    """insert into contact_imports (id, owner_id, file_name, encoding, delimiter, header, columns, existing, state,
    line_count, created_at, updated_at) values ($2, $1, 'people.csv', 'utf-8', ',', '{}', '{}', 'skip', 'done', 1, $4,
    $4)""",
    """insert into contact_import_lines (import_id, number, cells) select id, 1, 'jonas' from contact_imports
    where owner_id = $1""",
    """insert into held_departures (organization_id, user_id, held_at, removed, member_id, role)
    select organization_id, $1, $4, false, id, role from memberships where user_id = $1""",
    "insert into booking_requests values ($3, $1, 'confirmed', $4, null, $4)",
    """insert into booking_links (id, event_type_id, owner_id, note, uses, used, created_at, token_hash, token_sealed)
    select $2, event_type_id, $1, 'For jonas', 2, 1, $4, $9, $9 from bookings where id = $3""",
    "insert into booking_link_uses select $3, id from booking_links where owner_id = $1",
    "insert into wait_list_turns values ($1, $4)",
    """insert into wait_list_entries (id, host_id, event_type_id, day, until, name, email, zone, state, created_at,
    asked_at) select $2, $1, event_type_id, $4::date, $4, 'Jonas', 'jonas@okafor.example', 'UTC', 'waiting', $4, $4
    from bookings where id = $3""",
    """insert into wait_list_offers (id, entry_id, host_id, email, starts_at, ends_at, made_at, expires_at, state,
    ended_at) select $2, id, $1, email, $4, $4, $4, $4, 'expired', $4 from wait_list_entries where host_id = $1""",
    """insert into teams (id, organization_id, name, slug, zone, created_at, updated_at)
    select $2, organization_id, 'Harbor pilots', 'harbor-pilots', 'UTC', $4, $4 from memberships where user_id = $1""",
    """insert into team_members (team_id, user_id, attributes, joined_at)
    select id, $1, '{"desk": "Lindqvist"}', $4 from teams""",
    "insert into team_rules (event_type_id) select event_type_id from bookings where id = $3",
    """update event_types set team_id = (select id from teams)
    where id = (select event_type_id from bookings where id = $3)""",
    """insert into host_groups (id, event_type_id, position, pick)
    select $2, event_type_id, 0, 1 from bookings where id = $3""",
    "insert into host_group_members (group_id, user_id, listed) select id, $1, true from host_groups",
    """insert into assignments (id, group_id, booking_id, reason, at, asked, chosen, price)
    select $2, id, $3, 'booked', $4, '{}', array[$1], 0 from host_groups""",
    """insert into credit_entries (group_id, user_id, assignment_id, delta, reason, at)
    select group_id, $1, id, 0, 'booked', $4 from assignments""",
    """insert into booking_hosts (booking_id, user_id, claim_id, role)
    select $3, $1, claim_id, 'organizer' from bookings where id = $3""",
    """insert into held_hosts (claim_id, hold_id, user_id, group_id)
    select h.claim_id, h.claim_id, $1, g.id from booking_hosts h, host_groups g where h.booking_id = $3""",
    """insert into email_codes (id, event_type_id, email, hash, created_at, expires_at)
    select $2, event_type_id, 'jonas@okafor.example', $9, $4, $4 from bookings where id = $3""",
    """insert into claim_seats (id, claim_id, created_at) select $2, claim_id, $4 from bookings where id = $3""",
    """insert into effects (id, reaction, key, state, next_try_at, tenant_id, created_at)
    values ($2, 'calendars.read', $6::text, 'queued', $4, $1, $4)""",
    """insert into held_effects (effect_id, channel, round, due_at, held_at)
    select id, 'email', 0, $4, $4 from effects where event_id = $5 limit 1""",
    "insert into chat_messages (effect_id, at, text) select id, $4, 'jonas' from effects where event_id = $5 limit 1",
)


async def furnish(runtime: Runtime, user: User) -> Booking:
    """Give a user something of everything, and return the booking."""
    async with runtime.transaction(PUBLIC) as work:
        invitee = Invitee(name="Jonas Okafor", email="jonas@okafor.example", zone="Africa/Lagos")
        wanted = BookingWanted(
            which=BySlug(user.id, "30min"),
            starts_at=TEN,
            invitee=invitee,
            notes="=HYPERLINK(1)",
            guests=("li@okafor.example",),
        )
        booking = await bookings.create_booking(work, wanted)
    async with runtime.transaction(OPERATOR) as work:
        await access.create_api_key(work, user, name="Website")
        await access.begin_session(work, user, user_agent="Firefox on Linux")
        endpoint, _ = await webhooks.add_endpoint(work, user, EndpointWanted(url="http://127.0.0.1:9/hook"))
        await booking_events.renew_feed(work, user)
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        # A member that has yet to accept is not managed by the organization.
        profile = {"userName": "mara@lindqvist.example"}
        await members.add_described_member(work, organization, user, profile=profile, said_active=True, pending=True)
        await make_invitation(work, organization, user)
    event_id = await runtime.pool.fetchval("select id from events where type = 'booking.created'")
    ids: list[UUID] = [new_id() for _ in range(2)]
    given = dict(zip(KINDS, (user.id, None, booking.id, runtime.clock(), event_id, *ids, endpoint.id), strict=True))
    for row in ROWS:
        given["$2"] = new_id()
        await insert(runtime, row, {**given, "$9": SECRET.encode()})
    return booking


async def insert(runtime: Runtime, row: str, given: dict[str, object]) -> None:
    """Insert a row with those of the values that it names."""
    used = [name for name in given if name in row]
    for place, name in enumerate(used, 1):
        row = row.replace(name, f"@{place}::{KINDS.get(name, 'bytea')}")
    await runtime.pool.execute(row.replace("@", "$"), *(given[name] for name in used))


async def list_personal_tables(runtime: Runtime) -> set[str]:
    """List the tables that belong to a user: by a column that names one, or by a reference to such a table."""
    rows = await runtime.pool.fetch(
        """with recursive personal(oid) as (
            select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
            where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and (
                c.relname = 'users' or a.attname in ('user_id', 'host_id', 'owner_id', 'host_no', 'tenant_id'))
            union
            select k.conrelid from pg_constraint k join personal p on p.oid = k.confrelid
            where k.contype = 'f' and k.confdeltype = 'c'
        ) select distinct oid::regclass::text as name from personal"""
    )
    return {row["name"] for row in rows}
