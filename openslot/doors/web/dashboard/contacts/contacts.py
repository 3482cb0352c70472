"""Pages: the list of contacts, also as a CSV file; one contact, and the forms that add, change and delete one."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict, fields

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Status
from openslot.domains.calls.models import KnownCall
from openslot.domains.calls.operations import CallsFilter, list_calls
from openslot.domains.contacts.fields import PROSE
from openslot.domains.contacts.imports.csv_files import write_cell
from openslot.domains.contacts.models import CONTACT_FIELDS, Contact, ContactSort, Meeting
from openslot.domains.contacts.operations import (
    add_contact,
    change_contact,
    delete_contact,
    get_contact,
    get_contact_with_meetings,
    list_directory,
)
from openslot.domains.contacts.schemas import ContactChanges, ContactWanted
from openslot.domains.conversations.models import Conversation
from openslot.domains.conversations.operations import list_conversations
from openslot.doors.web.dashboard.calls import CALL_WORDS
from openslot.doors.web.dashboard.talks import CHANNELS
from openslot.doors.web.shared import words
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.days import BookingRow, DayOfRows, status_badge
from openslot.doors.web.shared.downloads import send_csv, write_csv
from openslot.doors.web.shared.list_queries import ListQuery, read_list_query, read_page
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.platform.core.shapes import with_fields
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

# As many as one file can bring in again.
MAX_ROWS = 20_000
COLUMNS = (Text("Name"), Text("Email address"), *(each.label for each in CONTACT_FIELDS), Text("Added on"))
# Long texts come last.
SHOWN_FIELDS = sorted(CONTACT_FIELDS, key=lambda each: each.kind is PROSE)
ROWS = 25
LIST_NOTICES = {"deleted": Text("The contact was deleted.")}
MAX_TALKS = 10
NOTICES = {"added": Text("The contact was added."), "changed": Text("The contact was changed.")}


def read_contacts_query(request: Request, user: User) -> ListQuery:
    return read_list_query(request, user, "/contacts", "q", "sort", choices={"sort": set(ContactSort)})


def read_sort(query: ListQuery) -> ContactSort:
    return ContactSort(query["sort"] or ContactSort.NEWEST)


@get("/contacts/export.csv")
async def export_contacts(request: Request, work: Work, user: User) -> Response:
    """Send the contacts that the address asks for, 20,000 in each part."""
    query, part = read_contacts_query(request, user), read_page(request, "part")
    found, _ = await list_directory(work, user, search=query["q"], sort=read_sort(query), page=part, limit=MAX_ROWS)
    # Thousands of lines take a while, and other requests must not wait for them.
    rows = ([*_cells(entry.contact, user)] for entry in found)
    body = await asyncio.to_thread(write_file, COLUMNS, rows, locale_of(request))
    return send_csv(f"contacts-{words.day(work.now, user.zone)}.csv", body)


def write_file(columns: Iterable[str], rows: Iterable[Iterable[str]], locale: Locale) -> bytes:
    """Write lines below the names of their columns, in cells that can be imported again."""
    return write_csv((str(localize(column, locale)) for column in columns), rows, write_cell=write_cell)


def _cells(contact: Contact, user: User) -> Iterator[str]:
    yield contact.name
    yield contact.email
    yield from (each.kind.write(getattr(contact, each.name)) for each in CONTACT_FIELDS)
    yield f"{words.day(contact.created_at, user.zone)}"


@get("/contacts")
async def show_contacts(request: Request, work: Work, user: User) -> Response:
    """Show one page of the contacts that the address asks for."""
    query = read_contacts_query(request, user)
    found, total = await list_directory(
        work, user, search=query["q"], sort=read_sort(query), page=query.page, limit=ROWS
    )
    parts = range(1, -(-total // MAX_ROWS) + 1)
    asked = {**({"search": query["q"]} if query["q"] else {}), "page": str(query.page), "limit": str(ROWS)}
    return page(
        "dashboard/contacts/list.html",
        user,
        here="/contacts",
        form=query.form,
        sorts={ContactSort.NEWEST: Text("Newest first"), ContactSort.NAME: Text("By name")},
        rows=found,
        total=total,
        is_searched=bool(query["q"]),
        pager=query.pager(total, ROWS),
        files=[(part, query.link("/contacts/export.csv", part=part if part > 1 else "")) for part in parts],
        clear=query.link(q=""),
        notices=LIST_NOTICES,
        curl=curl(work, user, "/contacts", query=asked),
    )


@get("/contacts/{contact_id}")
async def show_contact(work: Work, user: User, contact_id: UUID) -> Response:
    """Show a contact and what there was and will be with this person."""
    known = await get_contact_with_meetings(work, user, contact_id)
    contact = known.contact
    threads, calls = await _list_talks(work, user, contact.phone) if contact.phone else ([], [])
    return page(
        "dashboard/contacts/contact.html",
        user,
        here="/contacts",
        contact=contact,
        facts=list(_list_facts(contact, user)),
        meetings=known.meeting_count,
        upcoming=_by_day(known.upcoming, user, now=work.now),
        past=_by_day(known.past, user, now=work.now),
        threads=threads,
        channels=CHANNELS,
        calls=calls,
        **CALL_WORDS,
        notices=NOTICES,
        curl=curl(work, user, f"/contacts/{contact_id}"),
    )


async def _list_talks(work: Work, user: User, phone: str) -> tuple[list[Conversation], list[KnownCall]]:
    threads, _ = await list_conversations(work, user, phone=phone, limit=MAX_TALKS)
    calls, _ = await list_calls(work, user, CallsFilter(phone=phone), limit=MAX_TALKS)
    return threads, calls


def _list_facts(contact: Contact, user: User) -> Iterator[tuple[str, object]]:
    """List what is known about a person, each under its label; what nobody has said is left out."""
    for field in SHOWN_FIELDS:
        if value := getattr(contact, field.name):
            yield field.label, value if isinstance(value, str) else ", ".join(value)
    yield Text("Added on"), words.day(contact.created_at, user.zone)


def _by_day(meetings: Sequence[Meeting], user: User, *, now: datetime) -> list[DayOfRows]:
    today = words.day(now, user.zone)
    return [
        DayOfRows(words.day_heading(on, today=today), tuple(_meeting_row(each, user, now=now) for each in group))
        for on, group in groupby(meetings, key=lambda each: words.day(each.starts_at, user.zone))
    ]


def _meeting_row(meeting: Meeting, user: User, *, now: datetime) -> BookingRow:
    badge, tone = status_badge(Status(meeting.status), is_over=meeting.ends_at <= now)
    return BookingRow(
        id=meeting.id,
        hours=words.hours(meeting.starts_at, meeting.ends_at, user.zone),
        name=meeting.event_type_name,
        details=(),
        badge=badge,
        tone=tone,
    )


@with_fields((each.name, each.kind.typed, "") for each in CONTACT_FIELDS)
class ContactForm(Struct, frozen=True, kw_only=True):
    name: Annotated[Name, WhenEmpty(Text("Enter a name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter an email address"))]


@get("/contacts/new")
async def show_new_contact(work: Work, user: User, form: Form[ContactForm] = Form()) -> Response:
    return _show(work, user, form, None)


@post("/contacts", shows=show_new_contact)
async def create_contact_by_form(work: Work, user: User, form: Form[ContactForm]) -> Response:
    contact = await add_contact(work, user, ContactWanted(**_read(form)))
    return redirect(f"/contacts/{contact.id}?done=added")


@get("/contacts/{contact_id}/edit")
async def show_contact_form(work: Work, user: User, contact_id: UUID, form: Form[ContactForm] = Form()) -> Response:
    contact = await get_contact(work, user, contact_id)
    fields = {each.name: each.kind.write(getattr(contact, each.name)) for each in CONTACT_FIELDS}
    return _show(work, user, form.begin({"name": contact.name, "email": contact.email, **fields}), contact)


@post("/contacts/{contact_id}/edit", shows=show_contact_form)
async def edit_contact(work: Work, user: User, contact_id: UUID, form: Form[ContactForm]) -> Response:
    await change_contact(work, user, contact_id, ContactChanges(**_read(form)))
    return redirect(f"/contacts/{contact_id}?done=changed")


def _read(form: Form[ContactForm]) -> dict[str, Any]:
    sent = asdict(form.get())
    return {**sent, **{each.name: each.kind.read(sent[each.name]) for each in CONTACT_FIELDS if sent[each.name]}}


@get("/contacts/{contact_id}/delete")
async def ask_to_delete_contact(work: Work, user: User, contact_id: UUID) -> Response:
    """Say what is lost and what stays, and ask whether it is meant."""
    known = await get_contact_with_meetings(work, user, contact_id)
    return page(
        "dashboard/contacts/delete.html",
        user,
        here="/contacts",
        contact=known.contact,
        upcoming=len(known.upcoming),
        curl=curl(work, user, f"/contacts/{contact_id}", method="DELETE"),
    )


@post("/contacts/{contact_id}/delete")
async def delete_contact_by_form(work: Work, user: User, contact_id: UUID) -> Response:
    await delete_contact(work, user, contact_id)
    return redirect("/contacts?done=deleted")


def _show(work: Work, user: User, form: Form[ContactForm], contact: Contact | None) -> Response:
    path, method = (f"/contacts/{contact.id}", "PATCH") if contact else ("/contacts", "POST")
    return page(
        "dashboard/contacts/form.html",
        user,
        here="/contacts",
        form=form,
        fields=[(each, Text("%(label)s (optional)", label=each.label)) for each in SHOWN_FIELDS],
        contact=contact,
        curl=curl(work, user, path, method=method, body=_write_body(form)),
    )


def _write_body(form: Form[ContactForm]) -> dict[str, object]:
    """Write what stands in the form as the API takes it."""
    read = {each.name: each.kind.read for each in CONTACT_FIELDS}
    names = [(each.name, each.encode_name) for each in fields(ContactWanted) if form[each.name]]
    body = {encoded: _read_if_valid(read.get(name, str), form[name]) for name, encoded in names}
    return body or {"name": "NAME", "email": "EMAIL"}


def _read_if_valid(read: Callable[[str], object], text: str) -> object:
    try:
        return read(text)
    except ValueError:
        return text
