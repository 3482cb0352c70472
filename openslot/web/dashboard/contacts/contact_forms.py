"""Pages: a new contact, and changing or deleting one."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.accounts.models import User
from openslot.contacts import operations as contacts
from openslot.contacts.csv_cells import write_tags
from openslot.contacts.errors import ContactEmailTaken
from openslot.contacts.import_rules import read_tags
from openslot.contacts.models import Contact
from openslot.contacts.schemas import ContactChanges, ContactWanted, PhoneOrNone, Tag
from openslot.core.text import LINE, EmailAddress, Name, Prose, ShortLine
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web.dashboard.curl import curl
from openslot.web.pages import page, redirect


class ContactForm(Struct, frozen=True, kw_only=True):
    """Who someone is."""

    name: Annotated[Name, WhenEmpty(Text("Enter a name"))]
    email: Annotated[EmailAddress, WhenEmpty(Text("Enter an email address"))]
    phone: PhoneOrNone = PhoneOrNone("")
    company: ShortLine = ""
    notes: Prose = ""
    tags: Annotated[str, Meta(pattern=LINE, max_length=1200)] = ""


@get("/contacts/new")
async def show_new_contact(work: Work, user: User) -> Response:
    """Show the empty form."""
    return _show(work, user, Form(), None)


@post("/contacts")
async def create_contact_by_form(work: Work, user: User, form: Form[ContactForm]) -> Response:
    """Add a contact."""
    form, tags = _check_tags(form)
    if form.faults:
        return _show(work, user, form, None)
    sent = form.get()
    wanted = ContactWanted(
        name=sent.name, email=sent.email, phone=sent.phone, company=sent.company, notes=sent.notes, tags=tags
    )
    try:
        contact = await contacts.add_contact(work, user, wanted)
    except ContactEmailTaken as refusal:
        return _show(work, user, form.with_faults(refusal.faults), None)
    return redirect(f"/contacts/{contact.id}?done=added")


@get("/contacts/{contact_id}/edit")
async def show_contact_form(work: Work, user: User, contact_id: UUID) -> Response:
    """Show the form with what is known."""
    contact = await contacts.get_contact(work, user, contact_id)
    values = {
        "name": contact.name,
        "email": contact.email,
        "phone": contact.phone or "",
        "company": contact.company or "",
        "notes": contact.notes or "",
        "tags": write_tags(contact.tags),
    }
    return _show(work, user, Form(values=values), contact)


@post("/contacts/{contact_id}/edit")
async def edit_contact(work: Work, user: User, contact_id: UUID, form: Form[ContactForm]) -> Response:
    """Change a contact."""
    contact = await contacts.get_contact(work, user, contact_id)
    form, tags = _check_tags(form)
    if form.faults:
        return _show(work, user, form, contact)
    sent = form.get()
    changes = ContactChanges(
        name=sent.name, email=sent.email, phone=sent.phone, company=sent.company, notes=sent.notes, tags=tags
    )
    try:
        await contacts.change_contact(work, user, contact_id, changes)
    except ContactEmailTaken as refusal:
        return _show(work, user, form.with_faults(refusal.faults), contact)
    return redirect(f"/contacts/{contact_id}?done=changed")


@get("/contacts/{contact_id}/delete")
async def ask_to_delete_contact(work: Work, user: User, contact_id: UUID) -> Response:
    """Say what is lost and what stays, and ask whether it is meant."""
    known = await contacts.get_with_meetings(work, user, contact_id)
    return page(
        "dashboard/contacts/delete.html",
        user,
        here="/contacts",
        contact=known.contact,
        upcoming=len(known.upcoming),
        curl=curl(work, user, f"/contacts/{contact_id}", method="DELETE"),
    )


@post("/contacts/{contact_id}/delete")
async def delete_contact_by_form(request: Request, work: Work, user: User, contact_id: UUID) -> Response:
    """Delete a contact."""
    await contacts.delete_contact(work, user, contact_id)
    return redirect("/contacts?done=deleted")


def _check_tags(form: Form[ContactForm]) -> tuple[Form[ContactForm], tuple[Tag, ...]]:
    try:
        return form, read_tags(form["tags"])
    except ValueError as fault:
        return form.with_faults({"tags": fault.args[0]}), ()


def _show(work: Work, user: User, form: Form[ContactForm], contact: Contact | None) -> Response:
    path, method = (f"/contacts/{contact.id}", "PATCH") if contact else ("/contacts", "POST")
    names = ("name", "email", "phone", "company", "notes")
    body = {name: form[name] for name in names if form[name]} or {"name": "NAME", "email": "EMAIL"}
    return page(
        "dashboard/contacts/form.html",
        user,
        here="/contacts",
        status=400 if form.faults else 200,
        form=form,
        contact=contact,
        curl=curl(work, user, path, method=method, body=body),
    )
