"""A host, owner and administrator who has something for every path of the web door."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from openslot.domains.access import operations as access
from openslot.domains.access.address_changes import change_token
from openslot.domains.access.resets.operations import reset_token
from openslot.domains.accounts.invitations.operations import invitation_token
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_domain, get_organization
from openslot.domains.accounts.sign_ups import sign_up_token
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.links import manage_token
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.calendars import booking_events
from openslot.domains.people.deletions import write_link
from openslot.domains.wait_list.operations import entry_token
from openslot.doors.agents.emails.operations import unsubscribe_token
from openslot.doors.agents.images import image_url
from openslot.doors.oauth.clients import register
from openslot.platform.backups.create import backups_directory
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import DOMAIN, Harbor
from tests.doors.web.organization.driving import set_stage
from tests.support.agent import TestAgent
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TEN, Book, cancel, move
from tests.support.name_server import FakeResolver
from tests.support.rich_things import make_one_of_each

BACKUP = "openslot-2026.tar"
# The host owns the organization and is not managed by it, and everything is still waiting for an answer.
RAISED = """
update users set is_admin = true, plan = 'BUSINESS', photo = repeat('a', 32) where username = 'mara';
update photos set hash = repeat('a', 32);
delete from held_departures;
delete from member_profiles;
update password_resets set (password_digest, email) =
    (select sha256(convert_to(password_hash, 'UTF8')), email from users u where u.id = user_id);
update address_changes set (password_digest, previous_email) =
    (select sha256(convert_to(password_hash, 'UTF8')), email from users u where u.id = user_id);
update memberships set role = 'owner', active = true;
update payments set problems = '{disputed}';
update payments set connection_id = (select id from payment_connections);
update webhook_endpoints set state = 'disabled', state_reason = 'x';
update calendar_connections set failing_since = created_at, told_at = created_at;
update messaging_connections set failing_since = connected_at;
update payment_connections set failing_since = connected_at;
update crm_connections set failing_since = connected_at;
insert into brands (id, organization_id, name, updated_at)
    select gen_random_uuid(), id, 'Harbor', created_at from organizations;
update calendar_events set missing_since = starts_at;
insert into brand_images select user_id, 'cover', 'abc', 60, 40, 'image', updated_at from brand_images;
update contact_imports set state = 'draft', header = '{Name,Email}', columns = '{name,email}';
update contact_import_lines set cells = '["Li", "li@okafor.example"]';
update reminder_settings set entries = '[{"minutes": 60, "subject": "A mark", "text": "A mark"}]'
"""
SIGN_UP = """
insert into sign_ups (id, hash, browser_hash, email, name, zone, locale, password_hash, created_at, expires_at)
values ($1, $2, $2, 'li@okafor.example', 'Li', 'UTC', 'en', 'x', $3, $3::timestamptz + interval '1 hour')"""
RECIPIENT = "insert into marketing_recipients (id, email, created_at) values ($1, 'li@okafor.example', $2)"
IMAGE = """
insert into agent_images (id, at, expires_at, agent, audit_id, width, height, body)
values ($1, $2, $2::timestamptz + interval '1 day', 'marketing', $1, 1, 1, 'image')"""
CHANGES = """
insert into change_log (at, scope, organization_id, action, actor_kind, actor_name, actor_email, address, subject,
    before, after)
select $1, scope, o.id, action, 'session', 'Mara', 'mara', '127.0.0.1', 'Harbor', '{"name": "a"}', '{"name": "b"}'
from organizations o, unnest(array['organization', 'platform']) scope,
    unnest(array['organization.brand_changed', 'of.a.later.release']) action"""
FAILED_JOB = """
insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status, result)
values ('backups', 'daily', $1, $1, 0, 'failed', 'x')"""
REQUESTS = """
insert into scim_requests (token_id, at, method, path, status, user_name, detail)
select id, created_at, 'GET', '/Users', 400, 'li', 'x' from scim_tokens"""
IMPORT = """
insert into contact_imports (id, owner_id, file_name, encoding, delimiter, header, columns, existing, state, line_count,
    created_at, updated_at)
select $1, owner_id, file_name, encoding, delimiter, header, columns, existing, $2, line_count, created_at, updated_at
from contact_imports where state = 'draft'"""
# Pages that show something else, or more, with another question or about something in another state.
MORE = (
    "/availability/why?day=2026-03-17&time=11:00",
    "/bookings/new?type=own",
    "/bookings/week?date=2026-03-16&booking={booking_id}",
    "/bookings/{cancelled booking}",
    "/bookings/{moved booking}",
    "/bookings?view=cancelled",
    "/contacts/imports/{done import}",
    "/contacts/imports/{running import}",
    "/event-types/new?from={event_type_id}",
    "/event-types?view=archived",
    "/manage/{cancelled link}",
    "/mara/own?start=2026-03-24T10:00:00Z",
)
# Forms that lead to a question, which shows what it is about.
ASKED = {"/bookings/selected/cancel": {"id": "{booking_id}"}, "/bookings/selected/no-show": {"id": "{booking_id}"}}
LINKS = {"address_changes": change_token, "invitations": invitation_token, "password_resets": reset_token}


async def set_everything(
    runtime: Runtime, clock: MovingClock, user: User, other: User, book: Book, agent: TestAgent
) -> dict[str, str]:
    """Make one of everything, and return what the parameters of paths are: by a name, or a path's beginning and it."""
    made = await make_one_of_each(runtime, user)
    await runtime.pool.execute(RAISED)
    return {
        **made,
        **await _fill_organization(runtime, user, book),
        **await _fill_platform(runtime, other, agent),
        **await _fill_mailbox(runtime, clock, UUID(made["event_type_id"])),
        **await _make_links(runtime, user, made),
        "/event-types/{event_type_id}/public event_type_id": await _hide_one(runtime),
        "/oauth/authorize ?": await _register_program(runtime),
        **await _copy_imports(runtime),
        "username": user.username,
        "slug": "own",
        "vendor": "google",
        "/settings/crm vendor": "hubspot",
        "path:path": "admin.css",
        "/photos name": f"{'a' * 32}.jpg",
        "scope": "all",
        "/settings/reminders name": "before-60-email",
    }


async def _copy_imports(runtime: Runtime) -> dict[str, str]:
    """Let an import of contacts run, and another have ended."""
    ids = {state: new_id() for state in ("running", "done")}
    for state, import_id in ids.items():
        await runtime.pool.execute(IMPORT, import_id, state)
    return {f"{state} import": str(import_id) for state, import_id in ids.items()}


async def _hide_one(runtime: Runtime) -> str:
    """Make an event type private."""
    statement = "update event_types set private_hash = 'x', private_sealed = 'x' where slug = 'asked' returning id"
    return str(await runtime.pool.fetchval(statement))


async def _register_program(runtime: Runtime) -> str:
    """Let a program be known that asks to be connected, and return what it asks."""
    async with runtime.transaction(OPERATOR) as work:
        client = await register(work, b'{"client_name": "Aide", "redirect_uris": ["http://localhost/callback"]}')
    return (
        f"?client_id={client.id}&redirect_uri=http://localhost:9/callback&response_type=code"
        f"&code_challenge={'x' * 43}&code_challenge_method=S256&scope=bookings:read"
    )


async def _fill_organization(runtime: Runtime, user: User, book: Book) -> dict[str, str]:
    async with runtime.transaction(OPERATOR) as work:
        organization = await get_organization(work, "harbor")
        await add_domain(work, organization, DOMAIN, verified=True)
    others = dict.fromkeys(("owner", "admin", "member", "foreign_owner", "nobody", "free", "platform"), user)
    harbor = Harbor(organization=organization, other=organization, members={}, **others)
    stage = await set_stage(runtime, harbor, FakeResolver({}), book)
    await runtime.pool.execute(REQUESTS)
    values = {f"/organization {name}": value for name, value in stage.values("").items()}
    found = await runtime.pool.fetchrow(
        "select t.slug as team, e.slug from teams t join event_types e on e.team_id = t.id where t.id = $1", stage.team
    )
    assert found is not None
    return {**values, "team": found["team"], "/team slug": found["slug"]}


async def _fill_platform(runtime: Runtime, other: User, agent: TestAgent) -> dict[str, str]:
    """Let an agent wait for an approval, and something of what administrators look after go wrong."""
    async with runtime.transaction(OPERATOR) as work:
        _, key = await access.create_agent_key(work, "support", name="Support")
    booking_id = await runtime.pool.fetchval("select id from bookings where status = 'CONFIRMED' limit 1")
    await agent.call("cancel_booking", bookingId=str(booking_id), reason="Ill", confirm=True)
    await runtime.pool.execute(FAILED_JOB, runtime.clock())
    await runtime.pool.execute(CHANGES, runtime.clock())
    folder = backups_directory(runtime.settings)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / BACKUP).write_bytes(b"")
    return {
        "/admin/agents slug": "support",
        "/admin/agents key_id": str(key.id),
        "/admin/approvals approval_id": str(await runtime.pool.fetchval("select id from approvals")),
        "/admin/flags key": "api_docs",
        "/admin/messaging channel": "sms",
        "/admin/organizations slug": "harbor",
        "/admin/system name": BACKUP,
        "user_id": str(other.id),
    }


async def _fill_mailbox(runtime: Runtime, clock: MovingClock, event_type_id: UUID) -> dict[str, str]:
    """Let mails be written about a booking that is moved, and one that is cancelled."""
    await runtime.pool.execute("update effects set state = 'dead' where state = 'queued'")
    invitee = Invitee(name="Li Okafor", email="li@okafor.example", zone="UTC")
    made = []
    for day in (1, 7):
        starts_at = TEN + timedelta(days=day)
        async with runtime.transaction(PUBLIC) as work:
            wanted = BookingWanted(which=ById(event_type_id), starts_at=starts_at, invitee=invitee)
            booking = await bookings.create_booking(work, wanted)
        made.append(booking)
        if day == 1:
            await move(runtime, booking, starts_at + timedelta(hours=1))
        else:
            await cancel(runtime, booking, reason="Ill")
    await runtime.pool.execute(
        "update effects set state = 'dead' where state = 'queued' and reaction not like 'mail.%'"
    )
    await work_off(runtime, clock)
    mail_id = await runtime.pool.fetchval("select id from mail_messages where content is not null limit 1")
    moved, gone = made
    links = {"moved booking": str(moved.id), "cancelled booking": str(gone.id)}
    links["cancelled link"] = manage_token(runtime, gone.id)
    return {"mail_id": str(mail_id), "no": "1", **links}


async def _make_links(runtime: Runtime, user: User, made: Mapping[str, str]) -> dict[str, str]:
    """Make one link of each kind that is the right to use it."""
    now, ids = runtime.clock(), [new_id() for _ in range(3)]
    async with runtime.transaction(OPERATOR) as work:
        feed = await booking_events.renew_feed(work, user)
    sign_up = sign_up_token(runtime, ids[0])
    await runtime.pool.execute(SIGN_UP, ids[0], fingerprint(sign_up), now)
    await runtime.pool.execute(RECIPIENT, ids[1], now)
    await runtime.pool.execute(IMAGE, ids[2], now)
    tokens = {}
    for table, write in LINKS.items():
        row_id = await runtime.pool.fetchval(f"select id from {table} order by created_at desc limit 1")
        tokens[table] = write(runtime, row_id)
        statement = f"update {table} set hash = $2, expires_at = $3::timestamptz + interval '1 day' where id = $1"
        await runtime.pool.execute(statement, row_id, fingerprint(tokens[table]), now)
    return {
        "/account/email token": tokens["address_changes"],
        "/feed token": feed.rpartition("/")[2],
        "/invite token": tokens["invitations"],
        "/manage token": manage_token(runtime, UUID(made["booking_id"])),
        "/password token": tokens["password_resets"],
        "/photos/agents token": image_url(runtime, ids[2]).rpartition("/")[2],
        "/settings/data token": write_link(runtime, user, expires_at=now + timedelta(hours=1)).rpartition("/")[2],
        "/unsubscribe token": unsubscribe_token(runtime, ids[1]),
        "/verify token": sign_up,
        "/wait-list token": entry_token(runtime, UUID(made["entry_id"])),
    }
