"""Pages: one reminder or follow-up, of all meetings or of an event type: when, to whom, words, preview, test."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from markupsafe import Markup
from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import get_event_type, list_event_types
from openslot.domains.mail.kinds.reminders import (
    make_up_sample_booking,
    plan_test_reminder,
    sample_url,
    write_sample_reminder,
)
from openslot.domains.mail.models import Draft, Letter
from openslot.domains.mail.operations import find_mail_host, sends_mail
from openslot.domains.mail.rendering import show_letter
from openslot.domains.messaging.connections.accounts import list_for_host
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.words import preview_message
from openslot.domains.reminders.models import Audience, Entries, ReminderChannel, ReminderEntry, ReminderMoment
from openslot.domains.reminders.operations import (
    delete_reminder_entry,
    get_reminder_entry,
    get_reminders,
    save_reminder_entry,
)
from openslot.domains.reminders.placeholders import PLACEHOLDERS
from openslot.domains.reminders.rules import LONGEST_MESSAGE, LONGEST_SUBJECT, LONGEST_TEXT, check_entry
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id, parse_id
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import LANGUAGES, Language, choose_locale
from openslot.platform.routing import Form, RateLimit, Response, WhenEmpty, get, post

ALL, NEW, NEW_AFTER = "all", "new", "new-after"
PATH = "/settings/reminders/{scope}/{name}"
TESTS = RateLimit("test-reminders", 5)
NAMES = {"minutes": "amount"}
CHANNELS: dict[ReminderChannel, Text | str] = {
    ReminderChannel.EMAIL: Text("Email"),
    ReminderChannel.SMS: "SMS",
    ReminderChannel.WHATSAPP: "WhatsApp",
}
AUDIENCES = {
    Audience.INVITEE: Text("The invitee"),
    Audience.HOST: Text("You"),
    Audience.BOTH: Text("The invitee and you"),
}
MOMENTS = {
    ReminderMoment.BEFORE: Text("before the meeting begins"),
    ReminderMoment.AFTER: Text("after the meeting has ended"),
}
TITLES = {NEW: Text("Add a reminder"), NEW_AFTER: Text("Add a follow-up")}
TESTED = Text("A test email is being sent to %(email)s.")
TEST_KEPT = Text("The test email is in the mailbox: no mail server is set up, and nobody gets it.")
NO_MESSAGE_TEST = Text("must be email: a test goes to your own email address")
SAVED = Text("Saved. New times apply to bookings that are created or rescheduled from now on.")


class TimeUnit(StrEnum):
    MINUTES = "minutes"
    HOURS = "hours"
    DAYS = "days"


UNITS = {TimeUnit.DAYS: Text("days"), TimeUnit.HOURS: Text("hours"), TimeUnit.MINUTES: Text("minutes")}
MINUTES_OF = {TimeUnit.DAYS: 24 * 60, TimeUnit.HOURS: 60, TimeUnit.MINUTES: 1}


class EntryForm(Struct, frozen=True, kw_only=True):
    amount: Annotated[int, Meta(ge=1, le=99_999), WhenEmpty(Text("Enter a number"))]
    unit: TimeUnit = TimeUnit.MINUTES
    moment: ReminderMoment = ReminderMoment.BEFORE
    channel: ReminderChannel = ReminderChannel.EMAIL
    to: Audience = Audience.INVITEE
    subject: Annotated[str, Meta(max_length=2000)] = ""
    text: Annotated[str, Meta(max_length=20_000)] = ""
    language: str = ""

    @property
    def entry(self) -> ReminderEntry:
        """The entry as it was typed; a message has no subject."""
        return check_entry(
            ReminderEntry(
                moment=self.moment,
                minutes=self.amount * MINUTES_OF[self.unit],
                channel=self.channel,
                to=self.to,
                subject=self.subject if self.channel is ReminderChannel.EMAIL else "",
                text=self.text,
            )
        )


class ListedEntry(Struct, frozen=True, kw_only=True):
    name: str
    when: Text
    details: tuple[Text | str, ...]


class ReminderPreview(Struct, frozen=True, kw_only=True):
    """What one reader gets: a letter, or a message."""

    reader: Text
    language: Language
    letter: Letter | None = None
    body: Markup | None = None
    message: str | None = None


def list_entries(entries: Entries) -> list[ListedEntry]:
    return [
        ListedEntry(
            name=each.name,
            when=format_when(each),
            details=(
                CHANNELS[each.channel],
                AUDIENCES[each.to] if each.channel is ReminderChannel.EMAIL else Text("The invitee, if they agree"),
                *([Text("in your own words")] if each.subject or each.text else ()),
            ),
        )
        for each in entries
    ]


def format_when(entry: ReminderEntry) -> Text:
    unit, count = _find_unit(entry.minutes)
    if entry.is_reminder:
        return {
            TimeUnit.DAYS: PluralText("%(count)s day before", "%(count)s days before", count=count),
            TimeUnit.HOURS: PluralText("%(count)s hour before", "%(count)s hours before", count=count),
            TimeUnit.MINUTES: PluralText("%(count)s minute before", "%(count)s minutes before", count=count),
        }[unit]
    return {
        TimeUnit.DAYS: PluralText("%(count)s day after", "%(count)s days after", count=count),
        TimeUnit.HOURS: PluralText("%(count)s hour after", "%(count)s hours after", count=count),
        TimeUnit.MINUTES: PluralText("%(count)s minute after", "%(count)s minutes after", count=count),
    }[unit]


def _find_unit(minutes: int) -> tuple[TimeUnit, int]:
    unit = next(unit for unit, length in MINUTES_OF.items() if minutes % length == 0)
    return unit, minutes // MINUTES_OF[unit]


@get(PATH)
async def show_entry(work: Work, user: User, scope: str, name: str, form: Form[EntryForm] = Form()) -> Response:
    return await _show(work, user, scope, name, form)


@post(PATH, shows=show_entry, names=NAMES)
async def save_entry(work: Work, user: User, scope: str, name: str, form: Form[EntryForm]) -> Response:
    event_type = await _find_event_type(work, user, scope)
    known = None if name in {NEW, NEW_AFTER} else name
    await save_reminder_entry(work, user, event_type, known, form.get().entry)
    return redirect(f"{_list_path(event_type)}?done=reminders")


@post(f"{PATH}/preview", shows=show_entry, names=NAMES)
async def preview_entry(work: Work, user: User, scope: str, name: str, form: Form[EntryForm]) -> Response:
    """Show what people would get in one language; nothing is saved or sent."""
    event_type = await _find_sample_type(work, user, await _find_event_type(work, user, scope))
    sent = form.get()
    previews = await _write_previews(work, user, event_type, sent.entry, sent.language) if event_type else []
    return await _show(work, user, scope, name, form, previews=previews)


@post(f"{PATH}/test", shows=show_entry, names=NAMES, limit=TESTS)
async def send_test(work: Work, user: User, scope: str, name: str, form: Form[EntryForm]) -> Response:
    """Send an example to the host's own address; nothing is saved."""
    event_type = await _find_sample_type(work, user, await _find_event_type(work, user, scope))
    sent = form.get()
    entry = sent.entry
    if entry.channel is not ReminderChannel.EMAIL:
        raise Invalid(details={"channel": NO_MESSAGE_TEST})
    if event_type is not None:
        await plan_test_reminder(work, user, event_type, entry, _choose_language(user, sent.language).tag)
    notice = TESTED.fill(email=user.email) if sends_mail(work.runtime) else TEST_KEPT
    return await _show(work, user, scope, name, form, notice=notice)


@post(f"{PATH}/delete")
async def delete_entry(work: Work, user: User, scope: str, name: str) -> Response:
    event_type = await _find_event_type(work, user, scope)
    await delete_reminder_entry(work, user, event_type, name)
    return redirect(f"{_list_path(event_type)}?done=reminders")


async def _find_event_type(work: Work, user: User, scope: str) -> EventType | None:
    return None if scope == ALL else await get_event_type(work, user, parse_id(scope))


def _list_path(event_type: EventType | None) -> str:
    return f"/event-types/{event_type.id}/reminders" if event_type else "/settings/notifications"


async def _find_sample_type(work: Work, user: User, event_type: EventType | None) -> EventType | None:
    """Find an event type for an example: this one, or the host's first."""
    if event_type is not None:
        return event_type
    found, _ = await list_event_types(work, user, limit=1)
    return found[0] if found else None


def _choose_language(user: User, tag: str) -> Language:
    return LANGUAGES.get(tag) or choose_locale(user.locale).language


async def _show(
    work: Work,
    user: User,
    scope: str,
    name: str,
    form: Form[EntryForm],
    *,
    previews: Sequence[ReminderPreview] = (),
    notice: Text | None = None,
) -> Response:
    event_type = await _find_event_type(work, user, scope)
    is_new = name in {NEW, NEW_AFTER}
    begun = ReminderEntry(moment=ReminderMoment.AFTER if name == NEW_AFTER else ReminderMoment.BEFORE, minutes=120)
    if not is_new:
        kept = await get_reminders(work, user.id, event_type.id if event_type else None)
        begun = get_reminder_entry(kept, name)
    values = form.begin(_write_values(begun, user))
    return page(
        "dashboard/notifications/entry.html",
        user,
        here="/event-types" if event_type else "/settings/notifications",
        back=_list_path(event_type),
        event_type=event_type,
        path=f"/settings/reminders/{scope}/{name}",
        is_new=is_new,
        form=values,
        title=TITLES.get(name) or format_when(begun),
        choices={
            "unit": list(UNITS.items()),
            "moment": list(MOMENTS.items()),
            "channel": _list_channels(await list_for_host(work, user), values["channel"]),
            "to": list(AUDIENCES.items()),
            "language": [(each.tag, each.name) for each in LANGUAGES.values()],
        },
        placeholders=PLACEHOLDERS,
        longest=(LONGEST_SUBJECT, LONGEST_TEXT, LONGEST_MESSAGE),
        previews=previews,
        notice=notice,
    )


def _write_values(entry: ReminderEntry, user: User) -> dict[str, str]:
    unit, amount = _find_unit(entry.minutes)
    return {
        "amount": str(amount),
        "unit": unit,
        "moment": entry.moment,
        "channel": entry.channel,
        "to": entry.to,
        "subject": entry.subject,
        "text": entry.text,
        "language": choose_locale(user.locale).language.tag,
    }


def _list_channels(numbers: Sequence[MessagingConnection], chosen: str) -> list[tuple[str, Text | str]]:
    """List the channels to choose from; none if there is email alone."""
    connected = {each.channel.value for each in numbers}
    offered = [each for each in ReminderChannel if each in {ReminderChannel.EMAIL, *connected, chosen}]
    return [(each, CHANNELS[each]) for each in offered] if len(offered) > 1 else []


async def _write_previews(
    work: Work, user: User, event_type: EventType, entry: ReminderEntry, tag: str
) -> list[ReminderPreview]:
    language = _choose_language(user, tag)
    host = await find_mail_host(work, user.id, color=event_type.color)
    if host is None:
        return []
    if entry.channel is not ReminderChannel.EMAIL:
        booking = make_up_sample_booking(event_type, entry, user.zone, language.tag, now=work.now)
        url = sample_url(work.runtime)
        message = preview_message(booking, event_type, entry, host_name=user.name, url=url)
        return [ReminderPreview(reader=Text("The invitee, if they agree"), language=language, message=message)]
    drafts = write_sample_reminder(work, host, event_type, entry, language=language.tag, id_=new_id())
    return [_preview(draft, language) for draft in drafts]


def _preview(draft: Draft, language: Language) -> ReminderPreview:
    letter = show_letter(draft.letter, draft.locale)
    return ReminderPreview(
        reader=AUDIENCES[Audience(draft.recipient.role.value)],
        language=language,
        letter=letter,
        # Nothing in it is anybody's markup: see `fill_html`.
        body=Markup(letter.body.html) if letter.body else None,  # noqa: S704
    )
