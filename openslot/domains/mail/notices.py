"""Notices to users about their account: one entry and one letter each."""

from collections.abc import Callable
from typing import Any, Generic
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.events import RecoveryCodesRenewed, RecoveryCodeUsed, TwoFactorTurnedOff, TwoFactorTurnedOn
from openslot.domains.accounts.events import UserDataExported, UserDeletionBegun, UserDeletionEnding
from openslot.domains.accounts.models import PRODUCT, BrandedHost, SignUp, User
from openslot.domains.bookings.events import BookingLinkFailed
from openslot.domains.calendars.events import (
    CalendarBroken,
    CalendarChangeRefused,
    CalendarEvent,
    CalendarEventsMissing,
)
from openslot.domains.crm.events import CrmBroken
from openslot.domains.event_types.events import PaymentAccountChanged
from openslot.domains.mail.events import MailLimitReached
from openslot.domains.mail.models import (
    Draft,
    Fact,
    Letter,
    Link,
    MailKind,
    MailPot,
    MailTopic,
    Recipient,
    RecipientRole,
    compose,
)
from openslot.domains.messaging.connections.events import HostNumberChanged, MessagingBroken
from openslot.domains.oidc.events import IdentityConnected, IdentityDisconnected
from openslot.domains.payments.connections.events import PaymentsUnreadable
from openslot.domains.payments.events import PaymentNeedsAttention
from openslot.domains.payments.words import PROBLEMS, describe_money
from openslot.domains.webhooks.events import WebhookDisabled
from openslot.platform.core.events import E, Effect
from openslot.platform.core.text import one_line
from openslot.platform.i18n import CodedReason, PluralText, Text, recall
from openslot.platform.i18n.languages import choose_locale

SECURITY_FOOTER = Text("You received this email because it is about the security of your account.")
ACCOUNT_FOOTER = Text("You received this email because you have an account here.")
NOT_YOU = Text("If this wasn't you, change your password now and contact your administrator.")

POT_NAMES = {
    MailPot.CONFIRMATIONS: Text("Confirmations to invitees"),
    MailPot.GUESTS: Text("Emails to guests"),
    MailPot.REMINDERS: Text("Reminders to invitees"),
    MailPot.RESCHEDULES: Text("Emails to invitees about rescheduled bookings"),
    MailPot.CANCELLATIONS: Text("Emails to invitees about cancelled bookings"),
    MailPot.WAIT_LIST: Text("Emails to people on the wait list"),
}


class Notice(Struct, Generic[E], frozen=True):
    """Which event its tenant is told of, what the letter says, and which topic switches it off, if any does."""

    event: type[E]
    write: Callable[[E], Letter]
    topic: MailTopic | None = None
    is_security: bool = False
    """Whether it is sent even if email is stopped, as in `Draft`."""


def write_notice(
    effect: Effect,
    letter: Letter,
    to: Recipient,
    *,
    host_id: UUID | None,
    is_public: bool = False,
    is_security: bool = False,
) -> Draft:
    """Write a notice to the person that it is about, from Openslot: one from themselves would look like a fraud."""
    return Draft(
        id=effect.id,
        kind=MailKind.NOTICE,
        letter=letter,
        recipient=to,
        brand=PRODUCT,
        locale=choose_locale(to.locale),
        host_id=host_id,
        is_public=is_public,
        is_security=is_security,
    )


def to_owner(person: User | SignUp | BrandedHost, email: str | None = None) -> Recipient:
    """Address a mail to the owner of an account, at this address if it is another one."""
    return Recipient(
        role=RecipientRole.HOST, email=email or person.email, name=person.name, zone="UTC", locale=person.locale
    )


def _show_reason(kept: str) -> str:
    """Show why something was not done, on one line, whoever has written it."""
    reason = recall(kept)
    if isinstance(reason, CodedReason):
        return reason.fill(**{name: one_line(str(value)) for name, value in reason.values.items()})
    return one_line(reason)


def _about_security(subject: Text, *paragraphs: Text, service: str = "") -> Letter:
    facts = (Fact(label=Text("Service"), lines=(one_line(service),), is_verbatim=True),) if service else ()
    return compose(subject, *paragraphs, NOT_YOU, facts=facts, footer=SECURITY_FOOTER)


def _about_calendar(event: CalendarEvent, subject: Text, *paragraphs: Text, fact: Fact) -> Letter:
    return compose(
        subject,
        *paragraphs,
        facts=(Fact(label=Text("Calendar"), lines=(one_line(event.label),)), fact),
        footer=Text("You received this email because the calendar belongs to your account."),
    )


def _write_account_change(event: PaymentAccountChanged) -> Letter:
    names = Fact(label=Text("Event types"), lines=tuple(one_line(name) for name in event.event_types))
    if event.account is None:
        subject = Text("Invitees can't pay for some of your event types any more")
        said = (
            Text("The account that they paid to is gone: it was disconnected, or you have left its organization."),
            Text("Invitees see no times until you choose another account beside the price."),
        )
    else:
        subject = Text("Invitees pay to another account now")
        account = Text("From now on they pay to %(account)s.", account=one_line(event.account))
        said = (account, Text("If you don't know why, check who can sign in to your account."))
    button = Link(label=Text("Go to your event types"), url=f"{event.base_url}/event-types")
    return compose(subject, *said, facts=(names,), button=button, footer=ACCOUNT_FOOTER)


def _write_number_change(event: HostNumberChanged) -> Letter:
    if event.is_gone:
        subject = Text("The number that you write from is gone")
        said = (
            Text("It was disconnected, or you have left its organization."),
            Text("No messages are sent for you on this channel until you choose another number."),
        )
    else:
        subject = Text("Your messages are sent from another number now")
        said = (
            Text("From now on this number is used for your messages."),
            Text("If you don't know why, check who can sign in to your account."),
        )
    number = Fact(label=Text("Number"), lines=(one_line(event.number),), is_verbatim=True)
    button = Link(label=Text("Go to your numbers"), url=f"{event.base_url}/settings/messages")
    return compose(subject, *said, facts=(number,), button=button, footer=ACCOUNT_FOOTER)


LETTERS = (
    Notice(
        UserDataExported,
        lambda event: compose(
            Text("Your data is ready to download"),
            Text("You requested a copy of all data that Openslot keeps about you."),
            Text("You can download it for seven days. You need to sign in."),
            button=Link(label=Text("Go to your data"), url=f"{event.base_url}/settings/data"),
            footer=ACCOUNT_FOOTER,
        ),
    ),
    Notice(
        UserDeletionBegun,
        lambda _: compose(
            Text("Your account is being deleted"),
            Text("Your booking page is closed and you are signed out everywhere."),
            Text("Your upcoming bookings are being cancelled, and everyone who booked will be notified by email."),
            Text("When all of that is done, your data is deleted: usually within minutes, at most after eight days."),
            footer=ACCOUNT_FOOTER,
        ),
        is_security=True,
    ),
    Notice(
        UserDeletionEnding,
        lambda event: compose(
            Text("Your account is deleted"),
            Text("Everyone who booked with you has been notified. Your data is now being deleted."),
            Text("This is the last email you'll receive from us."),
            facts=(Fact(label=Text("Cancelled bookings"), lines=(str(event.cancelled_bookings),)),),
            footer=ACCOUNT_FOOTER,
        ),
        is_security=True,
    ),
    Notice(
        MailLimitReached,
        lambda event: compose(
            Text("Some emails about your bookings were not sent"),
            Text("More emails were triggered on your booking page than are allowed within 24 hours."),
            Text("Your bookings are not affected, and you still get an email about each new one."),
            Text("If this is not what you expect, check your latest bookings: someone may be misusing your page."),
            facts=(
                Fact(label=Text("Emails"), lines=(POT_NAMES[event.pot],)),
                Fact(label=Text("Limit"), lines=(Text("%(count)s in 24 hours", count=event.limit),)),
            ),
            footer=ACCOUNT_FOOTER,
        ),
    ),
    Notice(
        WebhookDisabled,
        lambda event: compose(
            Text("A webhook endpoint was switched off"),
            Text("Openslot could not deliver events to this endpoint and has stopped sending them."),
            Text("Your events are kept. When the endpoint works again, resume it and replay the events it missed."),
            facts=(
                Fact(label=Text("Address"), lines=(one_line(event.url),), is_verbatim=True),
                Fact(label=Text("Reason"), lines=(_show_reason(event.reason),), is_verbatim=True),
            ),
            footer=Text("You received this email because the endpoint belongs to your account."),
        ),
        MailTopic.WEBHOOK,
    ),
    Notice(
        CalendarBroken,
        lambda event: _about_calendar(
            event,
            Text("Openslot can't sync your calendar"),
            Text("Until it can be synced again, we keep using the last known busy times for the period you chose."),
            Text("After that, no times are offered. Check the calendar, or reconnect it."),
            fact=Fact(label=Text("Reason"), lines=(_show_reason(event.reason),), is_verbatim=True),
        ),
        MailTopic.CALENDAR,
    ),
    Notice(
        PaymentsUnreadable,
        lambda event: compose(
            Text("Openslot can't read your payments"),
            Text("Stripe no longer accepts the key that you have connected, or can't be reached."),
            Text("Until that is repaired, nobody can pay, and refunds wait. Connect a new key of the same account."),
            facts=(Fact(label=Text("Reason"), lines=(_show_reason(event.reason),), is_verbatim=True),),
            button=Link(
                label=Text("Go to payments"),
                url=f"{event.base_url}/{'organization' if event.organization_id else 'settings'}/payments",
            ),
            footer=ACCOUNT_FOOTER,
        ),
    ),
    Notice(PaymentAccountChanged, _write_account_change, is_security=True),
    Notice(HostNumberChanged, _write_number_change, is_security=True),
    Notice(
        MessagingBroken,
        lambda event: compose(
            Text("Openslot can't use your number for messages"),
            Text("The provider no longer accepts the token of the account, or can't be reached."),
            Text("Until that is repaired, no messages are sent from this number. If the token has changed, enter it."),
            facts=(
                Fact(label=Text("Number"), lines=(one_line(event.number),), is_verbatim=True),
                Fact(label=Text("Reason"), lines=(_show_reason(event.reason),), is_verbatim=True),
            ),
            button=Link(
                label=Text("Go to the number"),
                url=f"{event.base_url}/{'organization' if event.organization_id else 'settings'}/messages"
                f"/{event.connection_id}",
            ),
            footer=ACCOUNT_FOOTER,
        ),
    ),
    Notice(
        CrmBroken,
        lambda event: compose(
            Text("Openslot can't update your CRM"),
            Text("The CRM no longer accepts the connection, or can't be reached."),
            Text("Bookings work as before. What the CRM has missed is sent when it works again: check the connection."),
            facts=(
                Fact(label=Text("CRM"), lines=(one_line(event.label),), is_verbatim=True),
                Fact(label=Text("Reason"), lines=(_show_reason(event.reason),), is_verbatim=True),
            ),
            button=Link(label=Text("Go to the CRM"), url=f"{event.base_url}/settings/crm"),
            footer=ACCOUNT_FOOTER,
        ),
    ),
    Notice(
        PaymentNeedsAttention,
        lambda event: compose(
            PROBLEMS[event.problem][0],
            PROBLEMS[event.problem][1],
            facts=(
                Fact(label=Text("Invitee"), lines=(one_line(event.booking.invitee_name), event.booking.invitee_email)),
                Fact(label=Text("Payment"), lines=(describe_money(event.payment),)),
            ),
            button=Link(label=Text("View the payment"), url=f"{event.base_url}/payments/{event.payment.id}"),
            footer=Text("You received this email because people pay you for meetings."),
        ),
    ),
    Notice(
        BookingLinkFailed,
        lambda event: compose(
            Text("A booking has no link for its video call"),
            Text("No link could be made. Send a link to the invitee yourself, or open the booking and try it again."),
            facts=(
                Fact(label=Text("Invitee"), lines=(one_line(event.booking.invitee_name), event.booking.invitee_email)),
                Fact(label=Text("Reason"), lines=(_show_reason(event.reason),), is_verbatim=True),
            ),
            button=Link(label=Text("View the booking"), url=f"{event.base_url}/bookings/{event.booking.id}"),
            footer=Text("You received this email because people can book meetings with you."),
        ),
    ),
    Notice(
        CalendarChangeRefused,
        lambda event: _about_calendar(
            event,
            Text("A booking was not changed"),
            Text(
                "You changed or deleted a booking in your calendar. This was not possible, so the booking is unchanged."
            ),
            fact=Fact(label=Text("Reason"), lines=(_show_reason(event.reason),), is_verbatim=True),
        ),
        MailTopic.CALENDAR,
    ),
    Notice(
        CalendarEventsMissing,
        lambda event: _about_calendar(
            event,
            Text("Bookings are missing from your calendar"),
            Text("Several bookings disappeared from your calendar at the same time. None of them was cancelled."),
            Text("Decide whether to cancel these bookings or restore their events."),
            fact=Fact(label=Text("Bookings"), lines=(str(len(event.booking_ids)),)),
        ),
        MailTopic.CALENDAR,
    ),
    Notice(
        TwoFactorTurnedOn,
        lambda _: _about_security(
            Text("Two-factor authentication is on"),
            Text("From now on you need a code from your authenticator app to sign in."),
            Text("Keep your recovery codes in a safe place. You need one if you lose your phone."),
        ),
        is_security=True,
    ),
    Notice(
        TwoFactorTurnedOff,
        lambda event: _about_security(
            Text("Two-factor authentication is off"),
            Text("Your administrator has turned two-factor authentication off for your account.")
            if event.by_operator
            else Text("You have turned two-factor authentication off."),
            Text("Your password alone is enough to sign in."),
        ),
        is_security=True,
    ),
    Notice(
        RecoveryCodeUsed,
        lambda event: _about_security(
            Text("A recovery code was used"),
            Text("Someone used one of your recovery codes instead of a code from your authenticator app."),
            PluralText(
                "You have %(count)s recovery code left.", "You have %(count)s recovery codes left.", count=event.left
            ),
        ),
        is_security=True,
    ),
    Notice(
        RecoveryCodesRenewed,
        lambda _: _about_security(
            Text("You have new recovery codes"),
            Text("New recovery codes were created. The earlier ones no longer work."),
        ),
        is_security=True,
    ),
    Notice(
        IdentityConnected,
        lambda event: _about_security(
            Text("A new way to sign in to your account"),
            Text("From now on you can also sign in through this service."),
            service=event.issuer,
        ),
        is_security=True,
    ),
    Notice(
        IdentityDisconnected,
        lambda event: _about_security(
            Text("A way to sign in to your account was removed"),
            Text("You can no longer sign in through this service."),
            service=event.issuer,
        ),
        is_security=True,
    ),
)
NOTICES: dict[str, Notice[Any]] = {notice.event.type: notice for notice in LETTERS}
