"""What an export reads: one statement a file, with named columns, so that no hash, sealed value or token gets in.

Each gets the user's id as `$1` and returns one JSON object a row, with the names and formats of the REST API.
"""

from typing import Any

from openslot.bookings.schemas import SHOWN_BOOKING
from openslot.bookings.store import DETAIL_COLUMNS, DETAIL_TABLES
from openslot.contacts.schemas import EMBEDDED_CONTACT, LISTED_CONTACT
from openslot.core.moments import iso_of
from openslot.core.shapes import Shape
from openslot.event_types.schemas import EMBEDDED_EVENT_TYPE


def _object(**columns: str) -> str:
    """Write the SQL of a JSON object: `start_time="b.starts_at"` becomes `"startTime"`."""
    return f"json_build_object({_pairs(columns)})::text as line"


def _pairs(columns: dict[str, str]) -> str:
    return ", ".join(f"'{_camel(name)}', {expression}" for name, expression in columns.items())


def _show(alias: str, shape: Shape[Any], **given: str) -> dict[str, str]:
    """Write what a wire shape shows, as SQL; fields that are given to it are left out unless they are given here."""
    own = {
        name: iso_of(f"{alias}.{source}") if name in shape.instants else f"{alias}.{source}"
        for name, source in shape.sources.items()
    }
    columns = {**own, **given}
    return {name: columns[name] for name in shape.fields if name in columns}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _times(prefix: str, *names: str) -> dict[str, str]:
    return {name: iso_of(f"{prefix}.{name}") for name in names}


ACCOUNT = f"""
select {
    _object(
        id="u.id",
        email="u.email",
        name="u.name",
        username="u.username",
        former_usernames="(select coalesce(json_agg(json_build_object('username', f.name, 'redirects', f.leads,"
        f" 'reservedUntil', {iso_of('f.reserved_until')}) order by f.left_at desc, f.name), '[]')"
        " from former_usernames f where f.user_id = u.id)",
        plan="u.plan",
        plan_until=iso_of("u.plan_until"),
        trial_plan="u.trial_plan",
        trial_until=iso_of("u.trial_until"),
        timezone="u.zone",
        locale="u.locale",
        welcome_text="u.welcome",
        admin="u.is_admin",
        signs_in_with="case when u.password_hash is not null then 'password' end",
        **_times("u", "disabled_at", "left_at", "created_at", "updated_at"),
    )
} from users u where u.id = $1"""
SETTINGS = f"""
select {
    _object(
        brand="(select json_build_object('name', b.name, 'colour', b.colour, 'logoUrl', b.logo_url) from brands b"
        " where b.user_id = u.id)",
        reminders="(select coalesce(json_agg(json_build_object('eventTypeId', r.event_type_id,"
        " 'minutesBefore', r.minutes_before)), '[]') from reminder_settings r where r.host_id = u.id)",
        flags="(select coalesce(json_agg(json_build_object('key', f.flag_key, 'enabled', f.enabled)), '[]')"
        " from flag_overrides f where f.user_id = u.id)",
        notifications="(select coalesce(json_agg(json_build_object('topic', n.topic, 'on', n.is_on)), '[]')"
        " from notification_choices n where n.user_id = u.id)",
        bookings_feed_since=f"(select {iso_of('c.created_at')} from calendar_feeds c where c.user_id = u.id)",
    )
} from users u where u.id = $1"""
ORGANIZATIONS = f"""
select {
    _object(
        organization="o.name",
        role="m.role",
        active="m.active",
        profile="p.profile",
        departure_held_at=f"(select {iso_of('h.held_at')} from held_departures h where h.user_id = m.user_id"
        " and h.organization_id = o.id)",
        **_times("m", "created_at", "updated_at"),
    )
} from memberships m join organizations o on o.id = m.organization_id
left join member_profiles p on p.member_id = m.id where m.user_id = $1 order by m.id"""
INVITATIONS = f"""
select {_object(organization="o.name", **_times("i", "created_at", "expires_at", "used_at"))}
from invitations i join organizations o on o.id = i.organization_id where i.user_id = $1 order by i.id"""
SESSIONS = f"""
select {_object(id="s.id", user_agent="s.user_agent", **_times("s", "created_at", "expires_at", "last_seen_at"))}
from sessions s where s.user_id = $1 order by s.created_at, s.id"""
KEYS = f"""
select {
    _object(
        id="k.id",
        name="k.name",
        last_four="k.last_four",
        **_times("k", "created_at", "expires_at", "revoked_at", "last_used_at"),
    )
} from api_keys k where k.user_id = $1 order by k.id"""
SIGN_IN = f"""
select {
    _object(
        two_factor_since=f"(select {iso_of('a.confirmed_at')} from authenticators a where a.user_id = u.id)",
        recovery_codes_left="(select count(*) from recovery_codes r where r.user_id = u.id and r.used_at is null)",
        identities="(select coalesce(json_agg(json_build_object('issuer', i.issuer, 'subject', i.subject)), '[]')"
        " from identities i where i.user_id = u.id)",
    )
} from users u where u.id = $1"""
PHOTO = "select body from photos where user_id = $1"
IMPORTS = f"""
select {
    _object(
        id="i.id",
        file_name="i.file_name",
        state="i.state",
        lines="i.line_count",
        added="i.added",
        updated="i.updated",
        unchanged="i.unchanged",
        bad="i.bad",
        **_times("i", "created_at", "finished_at"),
    )
} from contact_imports i where i.owner_id = $1 order by i.created_at, i.id"""
SCHEDULES = f"""
select {
    _object(
        id="s.id",
        name="s.name",
        timezone="s.zone",
        weekly_hours="s.weekly_hours",
        overrides="s.overrides",
        holidays="s.holidays",
        **_times("s", "created_at", "updated_at"),
    )
} from schedules s where s.owner_id = $1 order by s.id"""
AWAY = f"""
select {
    _object(
        id="a.id",
        start_time=iso_of("a.starts_at"),
        end_time=iso_of("a.ends_at"),
        reason="a.reason",
        created_at=iso_of("a.created_at"),
    )
} from out_of_office a where a.owner_id = $1 order by a.starts_at, a.id"""
_EVENT_TYPE = _pairs(_show("e", EMBEDDED_EVENT_TYPE))
_CONTACT = _pairs(_show("c", EMBEDDED_CONTACT))
# The link that can change a booking is left out.
BOOKINGS = f"""
select {
    _object(
        **_show(
            "b",
            SHOWN_BOOKING,
            event_type=f"json_build_object({_EVENT_TYPE})",
            contact=f"case when c.id is not null then json_build_object({_CONTACT}) end",
        )
    )
} from bookings b join event_types e on e.id = b.event_type_id left join contacts c on c.id = b.contact_id
where b.host_id = $1 order by b.starts_at, b.id"""
HISTORY = f"""
select {_object(booking_id="h.booking_id", type="h.type", at=iso_of("h.at"), actor="h.actor ->> 'kind'")}
from booking_history h join bookings b on b.id = h.booking_id where b.host_id = $1 order by h.no"""
CONTACTS = f"""
select {
    _object(
        **_show(
            "c",
            LISTED_CONTACT,
            meeting_count="(select count(*) from bookings b where b.contact_id = c.id and b.status = 'CONFIRMED')",
        )
    )
} from contacts c where c.owner_id = $1 order by c.created_at, c.id"""
CONVERSATIONS = f"""
select {
    _object(
        id="v.id",
        contact_phone="v.contact_phone",
        channel="v.channel",
        message_count="v.message_count",
        **_times("v", "last_message_at", "created_at", "updated_at"),
    )
} from conversations v where v.owner_id = $1 order by v.id"""
MESSAGES = f"""
select {
    _object(
        conversation_id="m.conversation_id",
        content="m.content",
        direction="m.direction",
        status="m.status",
        timestamp=iso_of("m.at"),
    )
} from messages m join conversations v on v.id = m.conversation_id where v.owner_id = $1
order by m.conversation_id, m.at, m.id"""
# As `ShownCall`, and those that are not over.
CALLS = f"""
select {
    _object(
        id="c.id",
        direction="c.direction",
        caller_phone="c.caller_phone",
        duration_seconds="c.duration_seconds",
        status="c.status",
        agent_name="c.agent_name",
        **_times("c", "started_at", "created_at", "updated_at"),
    )
} from calls c where c.owner_id = $1 order by c.started_at, c.id"""
WEBHOOKS = f"""
select {
    _object(
        id="w.id",
        url="w.url",
        description="w.description",
        events="w.events",
        state="w.state",
        state_reason="w.state_reason",
        **_times("w", "state_since", "failing_since", "created_at", "updated_at"),
    )
} from webhook_endpoints w where w.owner_id = $1 order by w.id"""
DELIVERIES = f"""
select {
    _object(
        id="d.id",
        webhook_id="d.endpoint_id",
        event_id="d.event_id",
        attempt="d.attempt",
        at=iso_of("d.at"),
        url="d.url",
        status="d.status",
        duration_ms="d.duration_ms",
        error="d.error",
    )
} from webhook_deliveries d join webhook_endpoints w on w.id = d.endpoint_id where w.owner_id = $1
order by d.at, d.id"""
CALENDARS = f"""
select {
    _object(
        id="c.id",
        kind="c.kind",
        server="c.server",
        name="c.label",
        addresses="c.addresses",
        trust_hours="c.trust_hours",
        last_error="c.last_error",
        calendars="(select coalesce(json_agg(json_build_object('name', k.name, 'busy', k.is_busy, 'receivesBookings',"
        " k.receives, 'writable', k.can_write) order by k.name, k.id), '[]') from calendars k"
        " where k.connection_id = c.id)",
        **_times("c", "synced_at", "failing_since", "created_at"),
    )
} from calendar_connections c where c.owner_id = $1 order by c.created_at, c.id"""
PAGE_VIEWS = f"""
select {_object(event_type_id="p.event_type_id", date="p.on_day", source="p.source", views="p.views")}
from page_views p where p.host_id = $1 order by p.on_day, p.page_id, p.source"""
ACTIVITY = f"""
select {
    _object(
        id="v.id",
        type="v.type",
        at=iso_of("v.at"),
        actor="v.actor ->> 'kind'",
        subject_type="v.subject_kind",
        subject_id="v.subject_id",
    )
} from events v where v.tenant_id = $1 order by v.no"""
EMAILS = f"""
select {
    _object(
        id="m.id",
        kind="m.kind",
        to="m.recipient",
        subject="m.subject",
        status="m.status",
        booking_id="m.booking_id",
        error="m.error",
        **_times("m", "created_at", "sent_at"),
    )
}, m.id, case when m.role = 'host' and m.kind in ('confirmation', 'reschedule', 'cancellation', 'reminder')
    then m.content end as content
from mail_messages m where m.host_id = $1 order by m.created_at, m.id"""
# For the calendar file, which is made of bookings with all that belongs to them.
DETAILS = f"""
select {DETAIL_COLUMNS} from {DETAIL_TABLES}
where b.host_id = $1 and b.status <> 'PENDING_PAYMENT' order by b.starts_at, b.id"""
