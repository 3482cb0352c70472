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
from openslot.core.spreadsheets import make_safe
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.schemas import show_detailed
from openslot.exports import content_store
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
    "createdAt",
    "id",
)
CONTACT_COLUMNS = ("name", "email", "phone", "company", "notes", "tags", "meetingCount", "createdAt", "id")
# Tables with data of a user that are in no file, each with the reason.
NOT_EXPORTED = {
    "account_deletions": "exists only while the account is being deleted, when nobody can sign in to export it",
    "address_changes": "an address that waits to be confirmed for a day, and the hash of its link",
    "booking_counts": "totals of bookings.json, kept for speed",
    "busy_sources": "which calendars close times; calendars.json says it",
    "busy_spans": "times that were read from the user's own calendars and are read again every five minutes",
    "calendar_events": "where bookings were written in the user's own calendar",
    "calendar_objects": "a cache of the user's own calendar, without titles, notes and guests",
    "claim_seats": "the seats of bookings.json in the engine that offers times",
    "claims": "the times of bookings.json in the engine that offers times, and holds of ten minutes",
    "contact_import_lines": "lines of a file that the user has sent; contacts.json has what became of them",
    "data_export_pieces": "the export itself",
    "data_exports": "the export itself",
    "effects": "steps that follow from activity.json; emails.json and webhook-deliveries.json have their results",
    "event_feed": "numbers of the entries of activity.json, for the REST API's feed",
    "event_feeds": "the last of these numbers",
    "mail_limits_reached": "when the limit of emails was last reached; activity.json says it",
    "password_resets": "hashes of links that expire within hours",
    "pending_sign_ins": "hashes of sign-ins that expire within minutes",
    "webhook_messages": "copies of bookings.json and contacts.json as they were sent to webhook endpoints",
}


def as_list(query: str) -> Write:
    """Write one JSON object a line, in a list."""

    async def write(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
        async for piece in _join(_lines(connection, query, user)):
            yield piece

    return write


def as_object(query: str) -> Write:
    """Write the one JSON object that there is."""

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


async def write_photo(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
    """Write the photo as it is stored; an empty file where there is none."""
    yield await connection.fetchval(content_store.PHOTO, user.id) or b""


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
        async for rows in read_batches(connection, content_store.EMAILS, user):
            yield [_add_text(work, row) for row in rows]

    async for piece in _join(lines()):
        yield piece


async def write_calendar(_: Work, user: User, connection: Any) -> AsyncIterator[bytes]:
    """Write all bookings as one calendar, without the links that can change them."""
    yield _write_events((), user).partition(END)[0]
    async for rows in read_batches(connection, content_store.DETAILS, user, size=EVENTS):
        written = await asyncio.to_thread(_write_events, [to_details(row) for row in rows], user)
        yield written[written.index(BEGIN) : -len(END)]
    yield END


async def read_batches(connection: Any, query: str, user: User, *, size: int = BATCH) -> AsyncIterator[list[Row]]:
    """Read some rows at a time, never all."""
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
        name="account.json",
        about="Your account: name, email address, username and former usernames, plan, time zone and language.",
        tables=("users", "former_usernames"),
        write=as_object(content_store.ACCOUNT),
    ),
    ExportFile(
        name="settings.json",
        about="Your brand, reminders, notifications, feature flags, and since when your bookings have a feed.",
        tables=("brands", "reminder_settings", "flag_overrides", "notification_choices", "calendar_feeds"),
        write=as_object(content_store.SETTINGS),
    ),
    ExportFile(
        name="organizations.json",
        about="The organizations that you belong to, your role, and what their directory says about you.",
        tables=("memberships", "member_profiles", "held_departures"),
        write=as_list(content_store.ORGANIZATIONS),
    ),
    ExportFile(
        name="invitations.json",
        about="Invitations that you received.",
        tables=("invitations",),
        write=as_list(content_store.INVITATIONS),
    ),
    ExportFile(
        name="sessions.json",
        about="The devices on which you are signed in.",
        tables=("sessions",),
        write=as_list(content_store.SESSIONS),
    ),
    ExportFile(
        name="api-keys.json",
        about="Your API keys, without the keys themselves.",
        tables=("api_keys",),
        write=as_list(content_store.KEYS),
    ),
    ExportFile(
        name="sign-in.json",
        about="Since when you use two-factor authentication, and the identity providers that you sign in with.",
        tables=("authenticators", "recovery_codes", "identities"),
        write=as_object(content_store.SIGN_IN),
    ),
    ExportFile(
        name="photo.jpg",
        about="Your photo; empty if you have none.",
        tables=("photos",),
        write=write_photo,
    ),
    ExportFile(
        name="schedules.json",
        about="Your working hours, date overrides and public holidays.",
        tables=("schedules",),
        write=as_list(content_store.SCHEDULES),
    ),
    ExportFile(
        name="out-of-office.json",
        about="The times in which you are away.",
        tables=("out_of_office",),
        write=as_list(content_store.AWAY),
    ),
    ExportFile(
        name="event-types.json",
        about="What can be booked with you, as the REST API shows it.",
        tables=("event_types",),
        write=write_event_types,
    ),
    ExportFile(
        name="bookings.json",
        about="All your bookings, as the REST API shows them, without the links that can change them.",
        tables=("bookings",),
        write=as_list(content_store.BOOKINGS),
    ),
    ExportFile(
        name="bookings.csv",
        about="The same as a table for a spreadsheet. Times are in UTC.",
        tables=("bookings",),
        write=as_csv(content_store.BOOKINGS, BOOKING_COLUMNS),
    ),
    ExportFile(
        name="bookings.ics",
        about="The same for a calendar program, cancelled bookings included.",
        tables=("bookings",),
        write=write_calendar,
    ),
    ExportFile(
        name="booking-history.json",
        about="What happened to bookings so long ago that activity.json no longer has it.",
        tables=("booking_history",),
        write=as_list(content_store.HISTORY),
    ),
    ExportFile(
        name="contacts.json",
        about="Your contacts, as the REST API shows them.",
        tables=("contacts",),
        write=as_list(content_store.CONTACTS),
    ),
    ExportFile(
        name="contacts.csv",
        about="The same as a table for a spreadsheet.",
        tables=("contacts",),
        write=as_csv(content_store.CONTACTS, CONTACT_COLUMNS),
    ),
    ExportFile(
        name="contact-imports.json",
        about="Files from which you imported contacts, and how that went.",
        tables=("contact_imports",),
        write=as_list(content_store.IMPORTS),
    ),
    ExportFile(
        name="conversations.json",
        about="Your conversations by SMS and WhatsApp.",
        tables=("conversations",),
        write=as_list(content_store.CONVERSATIONS),
    ),
    ExportFile(
        name="messages.json",
        about="The messages of these conversations.",
        tables=("messages",),
        write=as_list(content_store.MESSAGES),
    ),
    ExportFile(
        name="calls.json",
        about="Calls that the voice agent has answered or made for you.",
        tables=("calls",),
        write=as_list(content_store.CALLS),
    ),
    ExportFile(
        name="webhooks.json",
        about="Your webhook endpoints, without their secrets.",
        tables=("webhook_endpoints",),
        write=as_list(content_store.WEBHOOKS),
    ),
    ExportFile(
        name="webhook-deliveries.json",
        about="What was sent to these endpoints, and how it went.",
        tables=("webhook_deliveries",),
        write=as_list(content_store.DELIVERIES),
    ),
    ExportFile(
        name="calendars.json",
        about="Your connected calendars, without passwords and addresses.",
        tables=("calendar_connections", "calendars"),
        write=as_list(content_store.CALENDARS),
    ),
    ExportFile(
        name="emails.json",
        about="Emails about you and your bookings that Openslot has sent; their text where it was kept.",
        tables=("mail_messages",),
        write=write_emails,
    ),
    ExportFile(
        name="page-views.json",
        about="How often your booking pages were opened, by day and source.",
        tables=("page_views",),
        write=as_list(content_store.PAGE_VIEWS),
    ),
    ExportFile(
        name="activity.json",
        about="What happened in your account, and who caused it.",
        tables=("events",),
        write=as_list(content_store.ACTIVITY),
    ),
)
