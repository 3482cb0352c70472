"""How each file of an export is written: lists, tables, pictures, and what the product shows by itself."""

import asyncio
import csv
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from email import message_from_bytes, policy
from functools import cache
from io import StringIO
from typing import Any

import msgspec

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import BookingDetails
from openslot.domains.bookings.store import to_details
from openslot.domains.calendars.booking_events import write_feed
from openslot.domains.event_types.operations import get_event_type_with_schedule, list_event_types
from openslot.domains.event_types.schemas import show_detailed
from openslot.domains.exports import content_store
from openslot.domains.mail.operations import open_content
from openslot.platform.core.db import Row
from openslot.platform.core.text import make_safe
from openslot.platform.core.work import Work
from openslot.platform.i18n import say
from openslot.platform.i18n.texts import list_reasons

BATCH = 500
# An event takes more memory while it is written than a row.
EVENTS = 100
BOM = "\ufeff"
BEGIN, END = b"BEGIN:VEVENT", b"END:VCALENDAR\r\n"

Write = Callable[[Work, User, Any], AsyncIterator[bytes]]


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
    found, _total = await list_event_types(work, user, only_active=False, limit=10_000)
    lines = []
    for each in found:
        event_type, schedule = await get_event_type_with_schedule(work, user, each.id)
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
    cursor = await connection.cursor(query, user.id)
    while rows := await cursor.fetch(size):
        yield rows


async def _lines(connection: Any, query: str, user: User) -> AsyncIterator[list[bytes]]:
    async for rows in read_batches(connection, query, user):
        yield [_say_codes(row["line"]).encode() for row in rows]


def _say_codes(line: str) -> str:
    """Say in English what a row keeps as a code."""
    if not _find_codes().search(line):
        return line
    return msgspec.json.encode(_say_all(msgspec.json.decode(line))).decode()


@cache
def _find_codes() -> re.Pattern[str]:
    return re.compile(f'"(?:{"|".join(re.escape(each.code) for each in list_reasons())})[" ;]')


def _say_all(value: object) -> object:
    if isinstance(value, dict):
        return {name: _say_all(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_say_all(each) for each in value]
    return say(value) if isinstance(value, str) else value


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
        values = msgspec.json.decode(_say_codes(row["line"]))
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
