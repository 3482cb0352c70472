"""mail …: emails that were sent, the embedded mailbox, and when people are reminded."""

import sys
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Annotated

import typer

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import list_event_types
from openslot.domains.mail.models import KeptMail
from openslot.domains.mail.operations import get_mail, list_kept_mails
from openslot.domains.reminders.models import ReminderChannel, ReminderEntry
from openslot.domains.reminders.operations import get_reminders, list_reminder_times, set_reminders
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Work

app = group("Emails that were sent, and the embedded mailbox.")

NOT_KEPT = "Only its entry in the log is kept: the message went to the SMTP server, or was not sent"
PARTS = {"text": "plain", "html": "html", "calendar": "calendar"}


@command(app, "list")
async def list_mail(
    work: Work,
    to: Annotated[str | None, typer.Option("--to", help="Only emails to this address")] = None,
    booking: Annotated[str | None, typer.Option("--booking", help="Only emails about this booking, by its id")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
) -> Answer:
    """List emails with their status, newest first."""
    booking_id = parse_id(booking) if booking else None
    found = await list_kept_mails(work, recipient=to, booking_id=booking_id, limit=limit)
    rows = [(each.id, each.created_at, _status(each), each.recipient, each.subject, each.error) for each in found]
    columns = ("Id", "At", "Status", "To", "Subject", "Error")
    return Answer({"mail": [_shape(each) for each in found]}, TableRows(columns, rows, "No emails yet."))


@command(app, "show")
async def show_mail(
    work: Work,
    mail_id: Annotated[str, typer.Argument(help="Id of the email, from `mail list`")],
    raw: Annotated[bool, typer.Option("--raw", help="Print the raw message, with headers and all parts")] = False,
) -> Answer:
    """Show one email of the embedded mailbox."""
    found, content = await get_mail(work, parse_id(mail_id))
    if raw:
        if content is None:
            raise Invalid(NOT_KEPT)
        sys.stdout.buffer.write(content)
        raise typer.Exit
    message = message_from_bytes(content, policy=policy.default) if content else None
    parts = {name: find_part(message, f"text/{kind}") for name, kind in PARTS.items()}
    error = f"Error: {found.error}\n" if found.error else ""
    lines = (f"To: {found.recipient}", f"Subject: {found.subject}", f"Status: {_status(found)}", error)
    return Answer({**_shape(found), **parts}, "\n".join([*lines, parts["text"] or f"{NOT_KEPT}."]))


@command(app, "reminders")
async def choose_reminders(
    work: Work,
    user: Annotated[str, typer.Option("--user", help="Email address of the host")],
    *,
    event_type: Annotated[str | None, typer.Option("--event-type", help="Only this event type's, by its slug")] = None,
    minutes: Annotated[
        str | None, typer.Option(help="Minutes before the meeting, comma-separated, such as 1440,60")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Send no reminders")] = False,
    channels: Annotated[
        str | None, typer.Option(help="With --minutes: how, comma-separated, such as email,sms,whatsapp")
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Go back to the host's choice, or to 1440,60")] = False,
) -> Answer:
    """Show when people are reminded of their meetings, or choose it for bookings from now on."""
    if sum((minutes is not None, none, reset)) > 1:
        raise Invalid("Specify only one of --minutes, --none and --reset")
    if channels is not None and minutes is None:
        raise Invalid("Specify --channels together with --minutes")
    chosen = () if none else read_minutes(minutes) if minutes is not None else None
    host = await get_user_by_email(work, user)
    found = await find_event_type(work, host, event_type) if event_type else None
    if chosen is None and not reset:
        result = await get_reminders(work, host.id, found.id if found else None)
    else:
        by = None if channels is None else [each.strip() for each in channels.split(",")]
        result = await set_reminders(work, host, found, chosen, channels=by)
    minutes_before = list_reminder_times(result)
    by_channel = [each for each in ReminderChannel if any(entry.channel is each for entry in result)]
    shown = {"user": user, "eventType": event_type, "minutes": minutes_before, "channels": by_channel}
    columns = ("When", "Channel", "To", "Words")
    rows = [(_when(each), each.channel, each.to, "own" if each.subject or each.text else "") for each in result]
    entries = [pick(each, "moment minutes channel to subject text") for each in result]
    return Answer({**shown, "entries": entries}, TableRows(columns, rows, "No reminders and no follow-ups."))


def _when(entry: ReminderEntry) -> str:
    return f"{entry.minutes} min {'before the start' if entry.is_reminder else 'after the end'}"


async def find_event_type(work: Work, host: User, slug: str) -> EventType:
    offered, _ = await list_event_types(work, host, limit=10_000)
    found = next((each for each in offered if each.slug == slug), None)
    if found is None:
        raise EventTypeNotFound
    return found


def _status(found: KeptMail) -> str:
    """Name the status; one that is only stored went to nobody."""
    return "stored, not sent" if found.is_stored else found.status


def _shape(found: KeptMail) -> dict[str, object]:
    names = "id kind subject transport booking_id created_at error"
    status = "stored" if found.is_stored else found.status
    sent_at = None if found.is_stored else found.sent_at
    return pick(found, names, to=found.recipient, status=status, sent_at=sent_at)


def find_part(message: EmailMessage | None, kind: str) -> str | None:
    parts = message.walk() if message else iter(())
    return next((str(each.get_content()) for each in parts if each.get_content_type() == kind), None)


def read_minutes(text: str) -> tuple[int, ...]:
    """Read `1440,60`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 7 for part in parts):
        raise Invalid(details={"minutes": "must be comma-separated whole numbers, such as 1440,60"})
    return tuple(int(part) for part in parts)
