"""What an export reads: one statement a file, with named columns, so that no hash, sealed value or token gets in.

Each gets the user's id as `$1` and returns one JSON object a row, with the names and formats of the REST API. What the
REST API shows has the columns of its shape there: a new one is exported too.
"""

from collections.abc import Iterator
from typing import Any

from openslot.domains.bookings.schemas import SHOWN_BOOKING
from openslot.domains.bookings.store import DETAIL_COLUMNS, DETAIL_TABLES
from openslot.domains.contacts.schemas import EMBEDDED_CONTACT, LISTED_CONTACT
from openslot.domains.event_types.schemas import EMBEDDED_EVENT_TYPE
from openslot.domains.payments.store import STATUS
from openslot.platform.core.shapes import Shape
from openslot.platform.core.times import iso_of

Names = str | Shape[Any]
"""The content of a row: names of columns, or what a shape of the REST API shows of its noun."""
INSTANTS = ("at", "since", "until")


def _select(names: Names, source: str, /, *more: str, **given: str) -> str:
    """Write the statement of a file: columns of the first table in `source`, or what is given for one."""
    line = _object(names, source.split()[1], **given)
    return f"select {', '.join((f'{line}::text as line', *more))} from {source}"


def _object(names: Names, alias: str, **given: str) -> str:
    pairs = (f"'{_camel(name)}', {value}" for name, value in _list_values(names, alias, given))
    return f"json_build_object({', '.join(pairs)})"


def _objects(names: str, source: str, *, order: str = "", **given: str) -> str:
    line = _object(names, source.split()[1], **given)
    return f"(select coalesce(json_agg({line}{order and f' order by {order}'}), '[]') from {source})"


def _list_values(names: Names, alias: str, given: dict[str, str]) -> Iterator[tuple[str, str]]:
    """List each name with its expression, and last what is given here beside them.

    What a shape is given, such as a link, is left out unless given here.
    """
    columns = {name: name for name in names.split()} if isinstance(names, str) else names.sources
    for name in columns if isinstance(names, str) else names.fields:
        if name in given:
            yield name, given[name]
        elif name in columns:
            column = f"{alias}.{columns[name]}"
            yield name, iso_of(column) if column.rpartition("_")[2] in INSTANTS or name == "at" else column
    if isinstance(names, Shape):
        yield from ((name, value) for name, value in given.items() if name not in names.fields)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


ACCOUNT = _select(
    "id email name username former_usernames plan plan_until trial_plan trial_until timezone locale welcome_text admin"
    " signs_in_with disabled_at left_at created_at updated_at",
    "users u where u.id = $1",
    timezone="u.zone",
    former_usernames=_objects(
        "username redirects reserved_until",
        "former_usernames f where f.user_id = u.id",
        order="f.left_at desc, f.name",
        username="f.name",
        redirects="f.leads",
    ),
    welcome_text="u.welcome",
    admin="u.is_admin",
    signs_in_with="case when u.password_hash is not null then 'password' end",
)
SETTINGS = _select(
    "theme hour_format first_weekday brand shows_footer reminders flags notifications bookings_feed_since",
    "users u where u.id = $1",
    brand=f"(select {_object('name color logo_url', 'b')} from brands b where b.user_id = u.id)",
    reminders=_objects("event_type_id minutes_before entries", "reminder_settings r where r.host_id = u.id"),
    flags=_objects("key enabled", "flag_overrides f where f.user_id = u.id", key="f.flag_key"),
    notifications=_objects("topic on", "notification_choices n where n.user_id = u.id", on="n.is_on"),
    bookings_feed_since=f"(select {iso_of('c.created_at')} from calendar_feeds c where c.user_id = u.id)",
)
ORGANIZATIONS = _select(
    "organization role active profile departure_held_at created_at updated_at",
    "memberships m join organizations o on o.id = m.organization_id"
    " left join member_profiles p on p.member_id = m.id where m.user_id = $1 order by m.id",
    organization="o.name",
    profile="p.profile",
    departure_held_at=f"(select {iso_of('h.held_at')} from held_departures h where h.user_id = m.user_id"
    " and h.organization_id = o.id)",
)
TEAMS = _select(
    "organization team weight priority manager attributes joined_at",
    "team_members m join teams t on t.id = m.team_id join organizations o on o.id = t.organization_id"
    " where m.user_id = $1 order by m.joined_at, t.id",
    organization="o.name",
    team="t.name",
    manager="m.is_manager",
)
HOSTED = _select(
    "booking_id event_type start_time end_time status role",
    "booking_hosts h join bookings b on b.id = h.booking_id join event_types e on e.id = b.event_type_id"
    " where h.user_id = $1 order by b.starts_at, b.id",
    event_type="e.name",
    start_time=iso_of("b.starts_at"),
    end_time=iso_of("b.ends_at"),
    status="b.status",
)
CREDITS = _select(
    "event_type booking_id delta served reason at",
    "credit_entries c join host_groups g on g.id = c.group_id join event_types e on e.id = g.event_type_id"
    " left join assignments a on a.id = c.assignment_id where c.user_id = $1 order by c.no",
    event_type="e.name",
    booking_id="a.booking_id",
)
INVITATIONS = _select(
    "organization created_at expires_at used_at",
    "invitations i join organizations o on o.id = i.organization_id where i.user_id = $1 order by i.id",
    organization="o.name",
)
SESSIONS = _select(
    "id user_agent created_at expires_at last_seen_at", "sessions s where s.user_id = $1 order by s.created_at, s.id"
)
KEYS = _select(
    "id name last_four created_at expires_at revoked_at last_used_at", "api_keys k where k.user_id = $1 order by k.id"
)
ASSISTANTS = _select(
    "id client_id client_name site scopes asks_first created_at ends_at revoked_at last_used_at",
    "assistant_grants g where g.user_id = $1 order by g.id",
)
ASSISTANT_CALLS = _select(
    "at client_name tool outcome code summary", "assistant_calls c where c.user_id = $1 order by c.no"
)
ASSISTANT_APPROVALS = _select(
    "id client_name tool status reason created_at expires_at decided_at",
    "assistant_approvals a where a.user_id = $1 order by a.id",
)
SIGN_IN = _select(
    "two_factor_since recovery_codes_left identities",
    "users u where u.id = $1",
    two_factor_since=f"(select {iso_of('a.confirmed_at')} from authenticators a where a.user_id = u.id)",
    recovery_codes_left="(select count(*) from recovery_codes r where r.user_id = u.id and r.used_at is null)",
    identities=_objects("issuer subject", "identities i where i.user_id = u.id"),
)
PHOTO = "select body from photos where user_id = $1"
LOGO, COVER = (f"select body from brand_images where user_id = $1 and kind = '{kind}'" for kind in ("logo", "cover"))
IMPORTS = _select(
    "id file_name state lines added updated unchanged bad created_at finished_at",
    "contact_imports i where i.owner_id = $1 order by i.created_at, i.id",
    lines="i.line_count",
)
SCHEDULES = _select(
    "id name timezone weekly_hours overrides holidays created_at updated_at",
    "schedules s where s.owner_id = $1 order by s.id",
    timezone="s.zone",
)
AWAY = _select(
    "id start_time end_time reason created_at",
    "out_of_office a where a.owner_id = $1 order by a.starts_at, a.id",
    start_time=iso_of("a.starts_at"),
    end_time=iso_of("a.ends_at"),
)
BOOKINGS = _select(
    SHOWN_BOOKING,
    "bookings b join event_types e on e.id = b.event_type_id left join contacts c on c.id = b.contact_id"
    " where b.host_id = $1 order by b.starts_at, b.id",
    event_type=_object(EMBEDDED_EVENT_TYPE, "e"),
    contact=f"case when c.id is not null then {_object(EMBEDDED_CONTACT, 'c')} end",
    hosts=_objects(
        "id name role",
        "booking_hosts h join users u on u.id = h.user_id where h.booking_id = b.id",
        order="h.role = 'host', u.no",
        id="h.user_id",
        name="u.name",
    ),
    private_notes="b.private_notes",
    source="b.source",
    request=f"(select {_object('state lapses_at reason ended_at', 'r')} from booking_requests r"
    " where r.booking_id = b.id)",
)
LINKS = _select(
    "id event_type_id uses used ends_at note bookings created_at revoked_at",
    "booking_links l where l.owner_id = $1 order by l.id",
    bookings="(select coalesce(json_agg(n.booking_id order by n.booking_id), '[]') from booking_link_uses n"
    " where n.link_id = l.id and n.active)",
)
WAIT_LIST = _select(
    "id event_type_id date start_time duration_minutes name email timezone locale state joined_at offers",
    "wait_list_entries w where w.host_id = $1 order by w.created_at, w.id",
    date="w.day::text",
    start_time=iso_of("w.starts_at"),
    duration_minutes="w.minutes",
    timezone="w.zone",
    joined_at=iso_of("w.created_at"),
    offers=_objects(
        "start_time end_time made_at expires_at state ended_at",
        "wait_list_offers o where o.entry_id = w.id",
        order="o.made_at, o.id",
        start_time=iso_of("o.starts_at"),
        end_time=iso_of("o.ends_at"),
    ),
)
PAYMENTS = _select(
    "id booking_id status amount currency mode paid_at refunded_amount refund_policy receipt_url dispute session_id"
    " payment_intent_id created_at updated_at refunds",
    "payments p where p.host_id = $1 order by p.created_at, p.id",
    status=STATUS,
    payment_intent_id="p.intent_id",
    refunds=_objects(
        "id amount reason status refund_id error created_at updated_at",
        "refunds r where r.payment_id = p.id",
        order="r.created_at, r.id",
        status="r.state",
        refund_id="r.vendor_id",
    ),
)
HISTORY = _select(
    "booking_id type at actor",
    "booking_history h join bookings b on b.id = h.booking_id where b.host_id = $1 order by h.no",
    actor="h.actor ->> 'kind'",
)
CONTACTS = _select(
    LISTED_CONTACT,
    "contacts c where c.owner_id = $1 order by c.created_at, c.id",
    meeting_count="(select count(*) from bookings b where b.contact_id = c.id and b.status = 'CONFIRMED')",
)
CONVERSATIONS = _select(
    "id contact_phone channel message_count last_message_at created_at updated_at",
    "conversations v where v.owner_id = $1 order by v.id",
)
MESSAGES = _select(
    "conversation_id content direction status purpose error files timestamp",
    "messages m join conversations v on v.id = m.conversation_id where v.owner_id = $1"
    " order by m.conversation_id, m.at, m.id",
    files="(select coalesce(json_agg(f.content_type order by f.position), '[]') from message_media f"
    " where f.message_id = m.id)",
    timestamp=iso_of("m.at"),
)
NUMBERS = _select(
    "id provider channel number account account_name can_cancel last_error notices connected_at disconnected_at",
    "messaging_connections c where c.user_id = $1 order by c.connected_at, c.id",
    notices=_objects(
        "call_id sequence received_at",
        "call_notices n where n.connection_id = c.id",
        order="n.received_at, n.call_id, n.sequence",
    ),
)
CRMS = _select(
    "id vendor account label options last_error meetings connected_at",
    "crm_connections c where c.owner_id = $1 order by c.connected_at, c.id",
    meetings=_objects("booking_id meeting_id", "crm_meetings m where m.connection_id = c.id", order="m.booking_id"),
)
OPT_OUTS = _select(
    "phone source opted_out_at opted_in_at", "message_opt_outs o where o.user_id = $1 order by o.opted_out_at, o.id"
)
CONSENTS = _select(
    "phone text source booking_id given_at withdrawn_at",
    "message_consents s where s.host_id = $1 order by s.given_at, s.id",
)
CALLS = _select(
    "id direction caller_phone duration_seconds status agent_name started_at created_at updated_at",
    "calls c where c.owner_id = $1 order by c.started_at, c.id",
)
WEBHOOKS = _select(
    "id url description events state state_reason state_since failing_since created_at updated_at",
    "webhook_endpoints w where w.owner_id = $1 order by w.id",
)
DELIVERIES = _select(
    "id webhook_id event_id attempt at url status duration_ms error",
    "webhook_deliveries d join webhook_endpoints w on w.id = d.endpoint_id where w.owner_id = $1 order by d.at, d.id",
    webhook_id="d.endpoint_id",
)
SUBSCRIPTIONS = _select(
    "id mode plan status paid_until grace_until ends_at customer_id subscription_id created_at updated_at",
    "subscribers s where s.user_id = $1 order by s.id",
)
PAYMENT_CONNECTIONS = _select(
    "id mode account_id account_name last_error notices last_read_at connected_at disconnected_at",
    "payment_connections c where c.user_id = $1 order by c.connected_at, c.id",
    notices=_objects(
        "id type created_at received_at",
        "payment_notices n where n.connection_id = c.id",
        order="n.received_at, n.id",
    ),
)
CALENDARS = _select(
    "id kind server name addresses trust_hours last_error calendars synced_at failing_since created_at",
    "calendar_connections c where c.owner_id = $1 order by c.created_at, c.id",
    name="c.label",
    calendars=_objects(
        "name busy receives_bookings writable",
        "calendars k where k.connection_id = c.id",
        order="k.name, k.id",
        busy="k.is_busy",
        receives_bookings="k.receives",
        writable="k.can_write",
    ),
)
PAGE_VIEWS = _select(
    "event_type_id date source views",
    "page_views p where p.host_id = $1 order by p.on_day, p.page_id, p.source",
    date="p.on_day",
)
ACTIVITY = _select(
    "id type at actor subject_type subject_id",
    "events v where v.tenant_id = $1 order by v.no",
    actor="v.actor ->> 'kind'",
    subject_type="v.subject_kind",
)
IN_MAILBOX = "(m.status = 'sent' and m.transport is not distinct from 'mailbox')"
EMAILS = _select(
    "id kind to subject status booking_id error created_at sent_at",
    "mail_messages m where m.host_id = $1 order by m.created_at, m.id",
    "m.id",
    """case when m.role = 'host' and m.kind in ('confirmation', 'request', 'reschedule', 'cancellation',
    'reminder', 'follow_up') then m.content end as content""",
    to="m.recipient",
    status=f"case when {IN_MAILBOX} then 'mailbox' else m.status end",
    sent_at=f"case when not {IN_MAILBOX} then {iso_of('m.sent_at')} end",
)
# For the calendar file, which is made of bookings with all that belongs to them.
DETAILS = f"""
select {DETAIL_COLUMNS} from {DETAIL_TABLES}
where b.host_id = $1 and b.status not in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION') order by b.starts_at, b.id"""
