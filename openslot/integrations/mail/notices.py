"""Notices to users about their account: one entry and one mail each."""

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from openslot.access.events import RecoveryCodesRenewed, RecoveryCodeUsed, TwoFactorTurnedOff, TwoFactorTurnedOn
from openslot.accounts.events import UserDataExported, UserDeletionBegun, UserDeletionEnding, UserEvent
from openslot.accounts.models import PRODUCT
from openslot.availability.errors import TimeTaken
from openslot.bookings.errors import BookingIsCancelled, BookingIsOver
from openslot.core.events import Effect, Event
from openslot.i18n import PluralText, Text, recall
from openslot.integrations.calendars.errors import show_failure
from openslot.integrations.calendars.events import CalendarBroken, CalendarChangeRefused, CalendarEventsMissing
from openslot.integrations.mail.events import MailLimitReached
from openslot.integrations.mail.meetings import MailHost
from openslot.integrations.mail.message import one_line
from openslot.integrations.mail.models import Fact, Letter, Link, MailKind, MailPot, MailTopic, Recipient, RecipientRole
from openslot.integrations.mail.operations import Draft, choose_locale
from openslot.integrations.oidc.events import IdentityConnected, IdentityDisconnected
from openslot.webhooks.events import WebhookDisabled
from openslot.webhooks.models import show_switch_off

SECURITY_FOOTER = Text("You received this email because it is about the security of your account.")
NOT_YOU = Text("If this wasn't you, change your password now and contact your administrator.")


def _write_turned_on(_: Effect) -> Letter:
    return Letter(
        subject=Text("Two-factor authentication is on"),
        heading=Text("Two-factor authentication is on"),
        paragraphs=(
            Text("From now on you need a code from your authenticator app to sign in."),
            Text("Keep your recovery codes in a safe place. You need one if you lose your phone."),
            NOT_YOU,
        ),
        footer=(SECURITY_FOOTER,),
    )


def _write_turned_off(effect: Effect) -> Letter:
    is_by_operator = effect.event(TwoFactorTurnedOff).by_operator
    how = (
        Text("Your administrator has turned two-factor authentication off for your account.")
        if is_by_operator
        else Text("You have turned two-factor authentication off.")
    )
    return Letter(
        subject=Text("Two-factor authentication is off"),
        heading=Text("Two-factor authentication is off"),
        paragraphs=(how, Text("Your password alone is enough to sign in."), NOT_YOU),
        footer=(SECURITY_FOOTER,),
    )


def _write_code_used(effect: Effect) -> Letter:
    left = effect.event(RecoveryCodeUsed).left
    return Letter(
        subject=Text("A recovery code was used"),
        heading=Text("A recovery code was used"),
        paragraphs=(
            Text("Someone used one of your recovery codes instead of a code from your authenticator app."),
            PluralText("You have %(count)s recovery code left.", "You have %(count)s recovery codes left.", count=left),
            NOT_YOU,
        ),
        footer=(SECURITY_FOOTER,),
    )


def _write_codes_renewed(_: Effect) -> Letter:
    return Letter(
        subject=Text("You have new recovery codes"),
        heading=Text("You have new recovery codes"),
        paragraphs=(Text("New recovery codes were created. The earlier ones no longer work."), NOT_YOU),
        footer=(SECURITY_FOOTER,),
    )


def _write_connected(effect: Effect) -> Letter:
    return Letter(
        subject=Text("A new way to sign in to your account"),
        heading=Text("A new way to sign in to your account"),
        paragraphs=(Text("From now on you can also sign in through this service."), NOT_YOU),
        facts=(
            Fact(label=Text("Service"), lines=(one_line(effect.event(IdentityConnected).issuer),), is_verbatim=True),
        ),
        footer=(SECURITY_FOOTER,),
    )


def _write_disconnected(effect: Effect) -> Letter:
    return Letter(
        subject=Text("A way to sign in to your account was removed"),
        heading=Text("A way to sign in to your account was removed"),
        paragraphs=(Text("You can no longer sign in through this service."), NOT_YOU),
        facts=(
            Fact(label=Text("Service"), lines=(one_line(effect.event(IdentityDisconnected).issuer),), is_verbatim=True),
        ),
        footer=(SECURITY_FOOTER,),
    )


SECURITY_LETTERS: dict[type[UserEvent], Callable[[Effect], Letter]] = {
    TwoFactorTurnedOn: _write_turned_on,
    TwoFactorTurnedOff: _write_turned_off,
    RecoveryCodeUsed: _write_code_used,
    RecoveryCodesRenewed: _write_codes_renewed,
    IdentityConnected: _write_connected,
    IdentityDisconnected: _write_disconnected,
}


CALENDAR_FOOTER = Text("You received this email because the calendar belongs to your account.")

ACCOUNT_FOOTER = Text("You received this email because you have an account here.")
# Why a change that a host made in the calendar can be refused.
REFUSALS = tuple(Text(str(each)) for each in (TimeTaken(), BookingIsOver(), BookingIsCancelled()))

POT_NAMES = {
    MailPot.CONFIRMATIONS: Text("Confirmations to invitees"),
    MailPot.GUESTS: Text("Emails to guests"),
    MailPot.REMINDERS: Text("Reminders to invitees"),
    MailPot.RESCHEDULES: Text("Emails to invitees about rescheduled bookings"),
    MailPot.CANCELLATIONS: Text("Emails to invitees about cancelled bookings"),
}


class Notice(Struct, frozen=True, kw_only=True):
    """Which event a host is told of, who that is, and what the letter says."""

    event: type[Event]
    host_of: Callable[[Effect], UUID]
    write: Callable[[Effect], Letter]
    topic: MailTopic | None = None
    """What switches it off; None: it is always sent."""


def _write_webhook_disabled(effect: Effect) -> Letter:
    event = effect.event(WebhookDisabled)
    return Letter(
        subject=Text("A webhook endpoint was switched off"),
        heading=Text("A webhook endpoint was switched off"),
        paragraphs=(
            Text("Openslot could not deliver events to this endpoint and has stopped sending them."),
            Text("Your events are kept. When the endpoint works again, resume it and replay the events it missed."),
        ),
        facts=(
            Fact(label=Text("Address"), lines=(one_line(event.url),), is_verbatim=True),
            Fact(label=Text("Reason"), lines=(show_switch_off(one_line(event.reason)),), is_verbatim=True),
        ),
        footer=(Text("You received this email because the endpoint belongs to your account."),),
    )


def _write_calendar_broken(effect: Effect) -> Letter:
    event = effect.event(CalendarBroken)
    reason = show_failure(one_line(event.reason))
    return Letter(
        subject=Text("Openslot can't sync your calendar"),
        heading=Text("Openslot can't sync your calendar"),
        paragraphs=(
            Text("Until it can be synced again, we keep using the last known busy times for the period you chose."),
            Text("After that, no times are offered. Check the calendar, or reconnect it."),
        ),
        facts=(
            Fact(label=Text("Calendar"), lines=(one_line(event.label),)),
            Fact(label=Text("Reason"), lines=(reason,), is_verbatim=True),
        ),
        footer=(CALENDAR_FOOTER,),
    )


def _write_calendar_change_refused(effect: Effect) -> Letter:
    event = effect.event(CalendarChangeRefused)
    return Letter(
        subject=Text("A booking was not changed"),
        heading=Text("A booking was not changed"),
        paragraphs=(
            Text(
                "You changed or deleted a booking in your calendar. This was not possible, so the booking is unchanged."
            ),
        ),
        facts=(
            Fact(label=Text("Calendar"), lines=(one_line(event.label),)),
            Fact(label=Text("Reason"), lines=(recall(one_line(event.reason), REFUSALS),), is_verbatim=True),
        ),
        footer=(CALENDAR_FOOTER,),
    )


def _write_calendar_events_missing(effect: Effect) -> Letter:
    event = effect.event(CalendarEventsMissing)
    return Letter(
        subject=Text("Bookings are missing from your calendar"),
        heading=Text("Bookings are missing from your calendar"),
        paragraphs=(
            Text("Several bookings disappeared from your calendar at the same time. None of them was cancelled."),
            Text("Decide whether to cancel these bookings or restore their events."),
        ),
        facts=(
            Fact(label=Text("Calendar"), lines=(one_line(event.label),)),
            Fact(label=Text("Bookings"), lines=(str(len(event.booking_ids)),)),
        ),
        footer=(CALENDAR_FOOTER,),
    )


def _write_data_exported(effect: Effect) -> Letter:
    event = effect.event(UserDataExported)
    return Letter(
        subject=Text("Your data is ready to download"),
        heading=Text("Your data is ready to download"),
        paragraphs=(
            Text("You requested a copy of all data that Openslot keeps about you."),
            Text("You can download it for seven days. You need to sign in."),
        ),
        button=Link(label=Text("Go to your data"), url=f"{event.base_url}/settings/data"),
        footer=(ACCOUNT_FOOTER,),
    )


def _write_deletion_begun(effect: Effect) -> Letter:
    effect.event(UserDeletionBegun)
    return Letter(
        subject=Text("Your account is being deleted"),
        heading=Text("Your account is being deleted"),
        paragraphs=(
            Text("Your booking page is closed and you are signed out everywhere."),
            Text("Your upcoming bookings are being cancelled, and everyone who booked will be notified by email."),
            Text("When all of that is done, your data is deleted: usually within minutes, at most after eight days."),
        ),
        footer=(ACCOUNT_FOOTER,),
    )


def _write_deletion_ending(effect: Effect) -> Letter:
    event = effect.event(UserDeletionEnding)
    return Letter(
        subject=Text("Your account is deleted"),
        heading=Text("Your account is deleted"),
        paragraphs=(
            Text("Everyone who booked with you has been notified. Your data is now being deleted."),
            Text("This is the last email you'll receive from us."),
        ),
        facts=(Fact(label=Text("Cancelled bookings"), lines=(str(event.cancelled_bookings),)),),
        footer=(ACCOUNT_FOOTER,),
    )


def _write_mail_limit_reached(effect: Effect) -> Letter:
    event = effect.event(MailLimitReached)
    return Letter(
        subject=Text("Some emails about your bookings were not sent"),
        heading=Text("Some emails about your bookings were not sent"),
        paragraphs=(
            Text("More emails were triggered on your booking page than are allowed within 24 hours."),
            Text("Your bookings are not affected, and you still get an email about each new one."),
            Text("If this is not what you expect, check your latest bookings: someone may be misusing your page."),
        ),
        facts=(
            Fact(label=Text("Emails"), lines=(POT_NAMES[event.pot],)),
            Fact(label=Text("Limit"), lines=(Text("%(count)s in 24 hours", count=event.limit),)),
        ),
        footer=(ACCOUNT_FOOTER,),
    )


def write_notice(effect: Effect, letter: Letter, host: MailHost, host_id: UUID) -> Draft:
    """Write a notice to the person that it is about, from Openslot: one from themselves would look like a fraud."""
    return Draft(
        id=effect.id,
        kind=MailKind.NOTICE,
        letter=letter,
        recipient=Recipient(
            role=RecipientRole.HOST, email=host.email, name=host.name, zone=host.zone, locale=host.locale
        ),
        brand=PRODUCT,
        locale=choose_locale(host.locale),
        host_id=host_id,
    )


NOTICES = {
    notice.event.type: notice
    for notice in (
        Notice(
            event=UserDataExported,
            host_of=lambda effect: effect.event(UserDataExported).user_id,
            write=_write_data_exported,
        ),
        Notice(
            event=UserDeletionBegun,
            host_of=lambda effect: effect.event(UserDeletionBegun).user_id,
            write=_write_deletion_begun,
        ),
        Notice(
            event=UserDeletionEnding,
            host_of=lambda effect: effect.event(UserDeletionEnding).user_id,
            write=_write_deletion_ending,
        ),
        Notice(
            event=MailLimitReached,
            host_of=lambda effect: effect.event(MailLimitReached).host_id,
            write=_write_mail_limit_reached,
        ),
        Notice(
            event=WebhookDisabled,
            host_of=lambda effect: effect.event(WebhookDisabled).owner_id,
            write=_write_webhook_disabled,
            topic=MailTopic.WEBHOOK,
        ),
        Notice(
            event=CalendarBroken,
            host_of=lambda effect: effect.event(CalendarBroken).owner_id,
            write=_write_calendar_broken,
            topic=MailTopic.CALENDAR,
        ),
        Notice(
            event=CalendarChangeRefused,
            host_of=lambda effect: effect.event(CalendarChangeRefused).owner_id,
            write=_write_calendar_change_refused,
            topic=MailTopic.CALENDAR,
        ),
        Notice(
            event=CalendarEventsMissing,
            host_of=lambda effect: effect.event(CalendarEventsMissing).owner_id,
            write=_write_calendar_events_missing,
            topic=MailTopic.CALENDAR,
        ),
        *(
            Notice(event=event, host_of=lambda effect: effect.event(UserEvent).user_id, write=write)
            for event, write in SECURITY_LETTERS.items()
        ),
    )
}
