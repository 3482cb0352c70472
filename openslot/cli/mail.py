"""mail …: emails that were sent, the embedded mailbox, and when people are reminded."""

import sys
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Annotated
from uuid import UUID

import typer
from msgspec import Struct, structs

from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.errors import EventTypeNotFound
from openslot.event_types.models import EventType
from openslot.integrations.mail import operations as mail
from openslot.integrations.mail.models import KeptMail
from openslot.processes.runtimes import with_work

app = typer.Typer(help="Emails that were sent, and the embedded mailbox.", no_args_is_help=True, add_completion=False)

NOT_KEPT = "Only its entry in the log is kept: the message went to the SMTP server, or was not sent"


class ShownMail(Struct, frozen=True, kw_only=True, rename="camel"):
    """A mail as scripts see it."""

    id: UUID
    kind: str
    to: str
    subject: str
    status: str
    transport: str | None
    booking_id: UUID | None
    created_at: datetime
    sent_at: datetime | None
    error: str | None


class OpenedMail(ShownMail, frozen=True, kw_only=True, rename="camel"):
    """A mail with its content, which is None if it was not kept."""

    text: str | None
    html: str | None
    calendar: str | None


class ShownReminders(Struct, frozen=True, kw_only=True, rename="camel"):
    """When people are reminded, as scripts see it."""

    user: str
    event_type: str | None
    minutes: tuple[int, ...]


@app.command("list")
def list_mail(
    to: Annotated[str | None, typer.Option("--to", help="Only emails to this address")] = None,
    booking: Annotated[str | None, typer.Option("--booking", help="Only emails about this booking, by its id")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List emails, newest first."""
    booking_id = parse_id(booking) if booking else None
    found = with_work(lambda work: mail.list_mail(work, recipient=to, booking_id=booking_id, limit=limit))
    if as_json:
        print_json({"mail": [shown(each) for each in found]})
        return
    rows = [(each.id, each.created_at, _status(each), each.recipient, each.subject, each.error) for each in found]
    print_table(("Id", "At", "Status", "To", "Subject", "Error"), rows, nothing="No emails yet.")


@app.command("show")
def show_mail(
    mail_id: Annotated[str, typer.Argument(help="Id of the email, from `mail list`")],
    raw: Annotated[bool, typer.Option("--raw", help="Print the raw message, with headers and all parts")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one email of the embedded mailbox."""
    found, content = with_work(lambda work: mail.get_mail(work, parse_id(mail_id)))
    if raw:
        if content is None:
            raise Invalid(NOT_KEPT)
        sys.stdout.buffer.write(content)
        return
    message = message_from_bytes(content, policy=policy.default) if content else None
    if as_json:
        opened = OpenedMail(
            **structs.asdict(shown(found)),
            text=find_part(message, "text/plain"),
            html=find_part(message, "text/html"),
            calendar=find_part(message, "text/calendar"),
        )
        print_json(opened)
        return
    for label, value in (("To", found.recipient), ("Subject", found.subject), ("Status", _status(found))):
        console.print(f"{label}: {value}")
    console.print(f"Error: {found.error}\n" if found.error else "")
    console.print(find_part(message, "text/plain") or f"{NOT_KEPT}.")


def _status(found: KeptMail) -> str:
    """Say whether a mail went to somebody."""
    return "stored, not sent" if found.is_stored else found.status


@app.command("reminders")
def choose_reminders(
    user: Annotated[str, typer.Option("--user", help="Email address of the host")],
    *,
    event_type: Annotated[str | None, typer.Option("--event-type", help="Only this event type's, by its slug")] = None,
    minutes: Annotated[
        str | None, typer.Option(help="Minutes before the meeting, comma-separated, such as 1440,60")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Send no reminders")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Go back to the host's choice, or to 1440,60")] = False,
    as_json: AsJson = False,
) -> None:
    """Show when people are reminded of their meetings, or choose it for bookings from now on."""
    if sum((minutes is not None, none, reset)) > 1:
        raise Invalid("Specify only one of --minutes, --none and --reset")
    chosen = () if none else read_minutes(minutes) if minutes is not None else None

    async def do(work: Work) -> tuple[int, ...]:
        host = await accounts.get_user_by_email(work, user)
        found = await find_event_type(work, host, event_type) if event_type else None
        if chosen is None and not reset:
            return await mail.get_reminders(work, host.id, found.id if found else None)
        return await mail.set_reminders(work, host, found, chosen)

    result = with_work(do)
    if as_json:
        print_json(ShownReminders(user=user, event_type=event_type, minutes=result))
        return
    console.print(f"Reminders: {', '.join(f'{each} min' for each in result) or 'none'} before the meeting.")


async def find_event_type(work: Work, host: User, slug: str) -> EventType:
    """Find one of a host's event types by its slug."""
    offered, _ = await event_types.list_event_types(work, host, limit=10_000)
    found = next((each for each in offered if each.slug == slug), None)
    if found is None:
        raise EventTypeNotFound
    return found


def shown(found: KeptMail) -> ShownMail:
    """Convert a mail to its form for scripts."""
    names = set(ShownMail.__struct_fields__) - {"to", "status", "sent_at"}
    return ShownMail(
        to=found.recipient,
        status="stored" if found.is_stored else found.status,
        sent_at=None if found.is_stored else found.sent_at,
        **{name: getattr(found, name) for name in names},
    )


def find_part(message: EmailMessage | None, kind: str) -> str | None:
    """Find the first part of this kind, as text."""
    parts = message.walk() if message else iter(())
    return next((str(each.get_content()) for each in parts if each.get_content_type() == kind), None)


def read_minutes(text: str) -> tuple[int, ...]:
    """Read `1440,60`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 7 for part in parts):
        raise Invalid(details={"minutes": "must be comma-separated whole numbers, such as 1440,60"})
    return tuple(int(part) for part in parts)
