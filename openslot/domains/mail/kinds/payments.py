"""Mails about money: what went back to an invitee."""

from openslot.domains.bookings.words import format_day
from openslot.domains.mail import reasons
from openslot.domains.mail.meetings import list_recipients
from openslot.domains.mail.models import Draft, Fact, MailAddress, MailKind, compose
from openslot.domains.mail.operations import deliver, find_mail_host, leave_unsent
from openslot.domains.payments.events import PaymentRefunded
from openslot.domains.payments.words import show_amount
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.text import one_line
from openslot.platform.core.work import Outcome, Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import choose_locale


async def tell_refunded(work: Work, effect: Effect) -> Outcome:
    """Tell the invitee that money is on its way back."""
    event = effect.event(PaymentRefunded)
    booking, payment = event.booking, event.payment
    host = await find_mail_host(work, payment.host_id, color=event.event_type.color)
    if host is None:
        return await leave_unsent(work, effect, reasons.HOST_GONE)
    invitee = list_recipients(booking, [host])[0]
    locale = choose_locale(invitee.locale, host.locale)
    amount = show_amount(payment.price, event.refund.amount)
    name = one_line(host.name)
    letter = compose(
        Text("Refund of %(amount)s", amount=amount),
        Text("%(amount)s is on its way back to the card or account it was paid with.", amount=amount),
        Text("Depending on your bank this takes up to 10 days."),
        facts=(
            Fact(label=Text("What"), lines=(one_line(event.event_type.name),)),
            Fact(label=Text("When"), lines=(format_day(booking.starts_at, invitee.zone, locale),)),
            Fact(label=Text("Host"), lines=(name,)),
        ),
        footer=Text("You received this email because you paid for a meeting with %(host)s.", host=name),
    )
    draft = Draft(
        id=effect.id,
        kind=MailKind.NOTICE,
        letter=letter,
        recipient=invitee,
        brand=host.brand,
        locale=locale,
        host_id=payment.host_id,
        booking_id=booking.id,
        reply_to=MailAddress(host.email, host.name),
    )
    return await deliver(work, effect, draft, SYSTEM)
