"""The files of an export and how each is written, and the tables that are not in it with the reason why."""

import asyncio
import csv
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from email import message_from_bytes, policy
from io import StringIO
from typing import Any

import msgspec

from openslot.accounts.models import User
from openslot.bookings.models import BookingDetails
from openslot.bookings.store import to_details
from openslot.core.db import Row
from openslot.core.text import make_safe
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.schemas import show_detailed
from openslot.exports import content_store as content
from openslot.exports.models import ExportFile
from openslot.integrations.calendars.booking_events import write_feed
from openslot.integrations.mail.operations import open_content

BATCH = 500
# An event takes more memory while it is written than a row.
EVENTS = 100
BOM = "\ufeff"
BEGIN, END = b"BEGIN:VEVENT", b"END:VCALENDAR\r\n"

Write = Callable[[Work, User, Any], AsyncIterator[bytes]]
BOOKING_COLUMNS = (
    "startTime",
    "endTime",
    "status",
    "eventType.name",
    "inviteeName",
    "inviteeEmail",
    "inviteeTimezone",
    "location.value",
    "guests",
    "notes",
    "cancelReason",
    "cancelledBy",
    "noShow",
    "privateNotes",
    "source",
    "createdAt",
    "seriesId",
    "id",
)
PAYMENT_COLUMNS = (
    "createdAt",
    "paidAt",
    "status",
    "amount",
    "currency",
    "refundedAmount",
    "mode",
    "bookingId",
    "receiptUrl",
    "paymentIntentId",
    "id",
)
CONTACT_COLUMNS = ("name", "email", "phone", "company", "notes", "tags", "meetingCount", "createdAt", "id")
# Tables with data of a user that are in no file, each with the reason.
NOT_EXPORTED = {
    "account_deletions": "exists only while the account is being deleted, when nobody can sign in to export it",
    "address_changes": "an address that waits to be confirmed for a day, and the hash of its link",
    "assistant_codes": "hashes of codes that expire within a minute; assistants.json has what became of them",
    "assistant_refresh_tokens": "hashes of tokens of the connections in assistants.json",
    "booking_counts": "totals of bookings.json, kept for speed",
    "busy_sources": "which calendars close times; calendars.json says it",
    "busy_spans": "times that were read from the user's own calendars and are read again every five minutes",
    "calendar_channels": "hashes of what proves the notices of the user's own calendars",
    "calendar_events": "where bookings were written in the user's own calendar",
    "calendar_invitations": "which of the user's own calendars invited to which booking",
    "calendar_objects": "a cache of the user's own calendar, without titles, notes and guests",
    "claim_seats": "the seats of bookings.json in the engine that offers times",
    "claims": "the times of bookings.json in the engine that offers times, and holds of ten minutes",
    "contact_import_lines": "lines of a file that the user has sent; contacts.json has what became of them",
    "data_export_pieces": "the export itself",
    "data_exports": "the export itself",
    "chat_messages": "what the operator's team chat was told of broken connections, which activity.json has",
    "held_effects": "that a message waited while messages were stopped; emails.json has the email",
    "effects": "steps that follow from activity.json; emails.json and webhook-deliveries.json have their results",
    "event_feed": "numbers of the entries of activity.json, for the REST API's feed",
    "event_feeds": "the last of these numbers",
    "host_months": "days on which bookings.json has bookings",
    "mail_limits_reached": "when the limit of emails was last reached; activity.json says it",
    "oauth_attempts": "hashes of consents at other services that expire within minutes",
    "oauth_grants": "encrypted tokens of the connections in calendars.json",
    "password_resets": "hashes of links that expire within hours",
    "pending_sign_ins": "hashes of sign-ins that expire within minutes",
    "revenue": "totals of payments.json by day",
    "webhook_messages": "copies of bookings.json and contacts.json as they were sent to webhook endpoints",
}


def as_list(query: str) -> Write:
    """Write one JSON object a line, in a list."""

    async def write(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
        async for piece in _join(_lines(connection, query, user)):
            yield piece

    return write


def as_object(query: str) -> Write:

    async def write(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
        yield (await connection.fetchval(query, user.id)).encode()

    return write


def as_csv(query: str, columns: Sequence[str]) -> Write:
    """Write a table that a spreadsheet can open safely."""

    async def write(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
        yield f"{BOM}{','.join(columns)}\r\n".encode()
        async for rows in read_batches(connection, query, user):
            yield await asyncio.to_thread(_write_rows, rows, columns)

    return write


def as_picture(query: str) -> Write:
    """Write a picture as it is stored; an empty file if there is none."""

    async def write(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
        yield await connection.fetchval(query, user.id) or b""

    return write


async def write_event_types(work: Work, user: User, _: Any) -> AsyncIterator[bytes]:
    """Write event types as the REST API shows each of them."""
    found, _total = await event_types.list_event_types(work, user, only_active=False, limit=10_000)
    lines = []
    for each in found:
        event_type, schedule = await event_types.get_with_schedule(work, user, each.id)
        lines.append(msgspec.json.encode(show_detailed(event_type, schedule)))
    yield b"[\n" + b",\n".join(lines) + b"\n]\n"


async def write_emails(work: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
    """Write the log of mail, with the text of mail about bookings that was kept for the user."""

    async def lines() -> AsyncIterator[list[bytes]]:
        async for rows in read_batches(connection, content.EMAILS, user):
            yield [_add_text(work, row) for row in rows]

    async for piece in _join(lines()):
        yield piece


async def write_calendar(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
    """Write all bookings as one calendar, without the links that can change them."""
    yield _write_events((), user).partition(END)[0]
    async for rows in read_batches(connection, content.DETAILS, user, size=EVENTS):
        written = await asyncio.to_thread(_write_events, [to_details(row) for row in rows], user)
        yield written[written.index(BEGIN) : -len(END)]
    yield END


async def read_batches(connection: Any, query: str, user: User, *, size: int = BATCH) -> AsyncIterator[list[Row]]:
    cursor = await connection.cursor(query, user.id)
    while rows := await cursor.fetch(size):
        yield rows


async def _lines(connection: Any, query: str, user: User) -> AsyncIterator[list[bytes]]:
    async for rows in read_batches(connection, query, user):
        yield [row["line"].encode() for row in rows]


async def _join(batches: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    before = b"[\n"
    async for lines in batches:
        yield before + b",\n".join(lines)
        before = b",\n"
    yield b"\n]\n" if before == b",\n" else b"[]\n"


def _write_rows(rows: Iterable[Row], columns: Sequence[str]) -> bytes:
    text = StringIO()
    writer = csv.writer(text)
    for row in rows:
        values = msgspec.json.decode(row["line"])
        writer.writerow([make_safe(_cell(_find(values, column))) for column in columns])
    return text.getvalue().encode()


def _find(values: dict[str, Any], column: str) -> object:
    """Find a value by its name, or by its name and that of the object it is in: `eventType.name`."""
    first, _, rest = column.partition(".")
    value = values.get(first)
    return _find(value, rest) if rest and isinstance(value, dict) else value


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _add_text(work: Work, row: Row) -> bytes:
    line: bytes = row["line"].encode()
    content = open_content(work.runtime, row["id"], row["content"])
    body = message_from_bytes(content, policy=policy.default).get_body(("plain",)) if content else None
    if body is None:
        return line
    return line.removesuffix(b"}") + b', "text": ' + msgspec.json.encode(body.get_content()) + b"}"


def _write_events(details: Sequence[BookingDetails], user: User) -> bytes:
    return write_feed(((each, "") for each in details), host_name=user.name, host_email=user.email)


FILES = (
    ExportFile(
        "account.json",
        "Your account: name, email address, username and former usernames, plan, time zone and language.",
        ("users", "former_usernames"),
        as_object(content.ACCOUNT),
    ),
    ExportFile(
        "settings.json",
        "Your brand, reminders, follow-ups, notifications, feature flags, and since when your bookings have a feed.",
        (
            "brands",
            "reminder_settings",
            "flag_overrides",
            "notification_choices",
            "calendar_feeds",
        ),
        as_object(content.SETTINGS),
    ),
    ExportFile(
        "organizations.json",
        "The organizations that you belong to, your role, and what their directory says about you.",
        ("memberships", "member_profiles", "held_departures"),
        as_list(content.ORGANIZATIONS),
    ),
    ExportFile("invitations.json", "Invitations that you received.", ("invitations",), as_list(content.INVITATIONS)),
    ExportFile("sessions.json", "The devices on which you are signed in.", ("sessions",), as_list(content.SESSIONS)),
    ExportFile("api-keys.json", "Your API keys, without the keys themselves.", ("api_keys",), as_list(content.KEYS)),
    ExportFile(
        "assistants.json",
        "The assistants that you have connected and what each may do, without their tokens.",
        ("assistant_grants",),
        as_list(content.ASSISTANTS),
    ),
    ExportFile(
        "sign-in.json",
        "Since when you use two-factor authentication, and the identity providers that you sign in with.",
        ("authenticators", "recovery_codes", "identities"),
        as_object(content.SIGN_IN),
    ),
    ExportFile("photo.jpg", "Your photo; empty if you have none.", ("photos",), as_picture(content.PHOTO)),
    ExportFile("logo.png", "Your logo; empty if you have none.", ("brand_images",), as_picture(content.LOGO)),
    ExportFile("cover.jpg", "Your cover image; empty if you have none.", ("brand_images",), as_picture(content.COVER)),
    ExportFile(
        "schedules.json",
        "Your working hours, date overrides and public holidays.",
        ("schedules",),
        as_list(content.SCHEDULES),
    ),
    ExportFile("out-of-office.json", "The times in which you are away.", ("out_of_office",), as_list(content.AWAY)),
    ExportFile(
        "event-types.json",
        "What can be booked with you, as the REST API shows it.",
        ("event_types",),
        write_event_types,
    ),
    ExportFile(
        "links.json",
        "Links for a number of bookings, without their tokens, and the bookings that were made through each.",
        ("booking_links", "booking_link_uses"),
        as_list(content.LINKS),
    ),
    ExportFile(
        "bookings.json",
        "All your bookings, as the REST API shows them, without the links that can change them, and all requests.",
        ("bookings", "booking_requests"),
        as_list(content.BOOKINGS),
    ),
    ExportFile(
        "bookings.csv",
        "The same as a table for a spreadsheet. Times are in UTC.",
        ("bookings",),
        as_csv(content.BOOKINGS, BOOKING_COLUMNS),
    ),
    ExportFile(
        "bookings.ics", "The same for a calendar program, cancelled bookings included.", ("bookings",), write_calendar
    ),
    ExportFile(
        "wait-list.json",
        "Who waits for a time with you, and what they were offered.",
        ("wait_list_entries", "wait_list_offers"),
        as_list(content.WAIT_LIST),
    ),
    ExportFile(
        "payments.json",
        "What invitees have paid or are to pay, with refunds. Amounts are in the currency's smallest unit.",
        ("payments", "refunds"),
        as_list(content.PAYMENTS),
    ),
    ExportFile(
        "payments.csv",
        "The same as a table for a spreadsheet, without the single refunds.",
        ("payments",),
        as_csv(content.PAYMENTS, PAYMENT_COLUMNS),
    ),
    ExportFile(
        "booking-history.json",
        "What happened to bookings so long ago that activity.json no longer has it.",
        ("booking_history",),
        as_list(content.HISTORY),
    ),
    ExportFile("contacts.json", "Your contacts, as the REST API shows them.", ("contacts",), as_list(content.CONTACTS)),
    ExportFile(
        "contacts.csv",
        "The same as a table for a spreadsheet.",
        ("contacts",),
        as_csv(content.CONTACTS, CONTACT_COLUMNS),
    ),
    ExportFile(
        "contact-imports.json",
        "Files from which you imported contacts, and how that went.",
        ("contact_imports",),
        as_list(content.IMPORTS),
    ),
    ExportFile(
        "conversations.json",
        "Your conversations by SMS and WhatsApp.",
        ("conversations",),
        as_list(content.CONVERSATIONS),
    ),
    ExportFile(
        "messages.json",
        "The messages of these conversations.",
        ("messages", "message_media"),
        as_list(content.MESSAGES),
    ),
    ExportFile(
        "numbers.json",
        "Your numbers for messages and calls that you have connected, without their tokens.",
        ("messaging_connections", "call_notices", "call_recordings"),
        as_list(content.NUMBERS),
    ),
    ExportFile(
        "message-opt-outs.json",
        "Who has asked for no more messages from your numbers.",
        ("message_opt_outs",),
        as_list(content.OPT_OUTS),
    ),
    ExportFile(
        "message-consents.json",
        "Who has agreed to messages from you, when, and to what.",
        ("message_consents",),
        as_list(content.CONSENTS),
    ),
    ExportFile(
        "calls.json", "Calls that the voice agent has answered or made for you.", ("calls",), as_list(content.CALLS)
    ),
    ExportFile(
        "webhooks.json",
        "Your webhook endpoints, without their secrets.",
        ("webhook_endpoints",),
        as_list(content.WEBHOOKS),
    ),
    ExportFile(
        "webhook-deliveries.json",
        "What was sent to these endpoints, and how it went.",
        ("webhook_deliveries",),
        as_list(content.DELIVERIES),
    ),
    ExportFile(
        "calendars.json",
        "Your connected calendars, without passwords and addresses.",
        ("calendar_connections", "calendars"),
        as_list(content.CALENDARS),
    ),
    ExportFile(
        "crms.json",
        "Your connected CRMs and which meeting there is which booking, without secrets.",
        ("crm_connections", "crm_meetings"),
        as_list(content.CRMS),
    ),
    ExportFile(
        "subscriptions.json",
        "Your subscriptions to plans, with their ids at the payment provider.",
        ("subscribers",),
        as_list(content.SUBSCRIPTIONS),
    ),
    ExportFile(
        "payment-connections.json",
        "Your accounts of a payment provider that you have connected, without their keys.",
        ("payment_connections", "payment_notices"),
        as_list(content.PAYMENT_CONNECTIONS),
    ),
    ExportFile(
        "emails.json",
        "Emails about you and your bookings that Openslot has sent; their text where it was kept.",
        ("mail_messages",),
        write_emails,
    ),
    ExportFile(
        "page-views.json",
        "How often your booking pages were opened, by day and source.",
        ("page_views",),
        as_list(content.PAGE_VIEWS),
    ),
    ExportFile(
        "activity.json", "What happened in your account, and who caused it.", ("events",), as_list(content.ACTIVITY)
    ),
)
