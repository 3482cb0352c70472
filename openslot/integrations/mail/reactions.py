"""What mail does because something happened: one mail for each participant, and notices to hosts."""

from openslot.access.events import AddressChangeRequested
from openslot.access.resets import SEND_RESET
from openslot.accounts.addresses import TELL_KEPT
from openslot.accounts.events import InvitationCreated, SignUpRequested, UserChanged, UserPasswordChanged
from openslot.bookings.events import BookingCancelled, BookingCreated, BookingRescheduled
from openslot.bookings.models import Booking
from openslot.bookings.rules import is_over
from openslot.core.events import Effect, Event, Expanded, Outcome, Reaction, Skipped, Target
from openslot.core.work import Work
from openslot.integrations.mail import operations
from openslot.integrations.mail.account_mails import TELL_CHANGE, send_reset, tell_password_changed
from openslot.integrations.mail.address_change_mails import (
    CONFIRM_ADDRESS,
    TELL_REQUEST,
    send_confirmation_link,
    tell_address_change_requested,
)
from openslot.integrations.mail.address_mails import TELL_ADDRESS, tell_address_changed, tell_address_kept
from openslot.integrations.mail.deletion_mails import send_deletion_link
from openslot.integrations.mail.deliveries import deliver, leave_unsent, mail_server
from openslot.integrations.mail.drafts import (
    KINDS,
    find_recipient,
    name_recipient,
    read_event,
    read_meeting,
    write_draft,
)
from openslot.integrations.mail.invitations import INVITE, invite
from openslot.integrations.mail.meetings import is_wanted, list_recipients
from openslot.integrations.mail.models import Recipient
from openslot.integrations.mail.notices import NOTICES, write_notice
from openslot.integrations.mail.reminders import REMIND, plan_reminders, remind
from openslot.integrations.mail.rules import DELAYS
from openslot.integrations.mail.sign_up_mails import SIGN_UP, send_sign_up
from openslot.integrations.mail.topics import UNWANTED
from openslot.people.deletions import SEND_LINK

SEND, NOTIFY = "mail.send", "mail.notify"
OVER, NO_HOST = "the meeting is over", "the host's account is deleted"


def booking_lane(event: Event) -> str:
    """Keep the mail about one booking in order."""
    return f"mail:booking:{event.subject[1]}"


async def fan_out(work: Work, effect: Effect) -> Outcome:
    """Make one mail for each participant of a meeting, and plan its reminders again."""
    booking = read_event(effect).booking
    host = await operations.find_host(work, booking.host_id)
    if host is None:
        return Skipped(NO_HOST)
    if is_over(booking, now=work.now):
        return Skipped(OVER)
    return Expanded(
        tuple(_target(booking, each) for each in list_recipients(booking, host)),
        write=lambda work: plan_reminders(work, booking, host, effect.actor),
    )


async def send(work: Work, effect: Effect) -> Outcome:
    """Notify one person of what happened to a meeting."""
    event = read_event(effect)
    if is_over(event.booking, now=work.now):
        return await leave_unsent(work, effect, OVER)
    host = await operations.find_host(work, event.booking.host_id, colour=event.event_type.colour)
    recipient = find_recipient(event.booking, host, effect.target) if host else None
    if host is None or recipient is None:
        return await leave_unsent(work, effect, NO_HOST)
    kind = KINDS[effect.event_type][1]
    if not is_wanted(host, recipient, kind):
        return await leave_unsent(work, effect, UNWANTED)
    cause = effect.actor
    meeting = read_meeting(work.runtime, event, host, cause=cause)
    return await deliver(work, effect, write_draft(meeting, kind, recipient, effect, cause), cause)


async def notify(work: Work, effect: Effect) -> Outcome:
    """Notify someone about their account."""
    notice = NOTICES[effect.event_type]
    host_id = notice.host_of(effect)
    host = await operations.find_host(work, host_id)
    if host is None:
        return Skipped(NO_HOST)
    if notice.topic is not None and notice.topic not in host.topics:
        return await leave_unsent(work, effect, UNWANTED)
    return await deliver(work, effect, write_notice(effect, notice.write(effect), host, host_id), effect.actor)


def _target(booking: Booking, recipient: Recipient) -> Target:
    lane = f"mail:booking:{booking.id}@{recipient.email.casefold()}"
    return Target(reaction=SEND, target=name_recipient(recipient), lane=lane)


MAIL_REACTIONS = (
    Reaction(
        name="mail.fan_out", on=(BookingCreated, BookingRescheduled, BookingCancelled), run=fan_out, lane=booking_lane
    ),
    Reaction(name=SEND, run=send, delays=DELAYS, destination=mail_server),
    Reaction(name=REMIND, run=remind, delays=DELAYS, destination=mail_server),
    Reaction(name=INVITE, on=(InvitationCreated,), run=invite, delays=DELAYS, destination=mail_server),
    Reaction(name=SIGN_UP, on=(SignUpRequested,), run=send_sign_up, delays=DELAYS, destination=mail_server),
    Reaction(name=SEND_RESET, run=send_reset, delays=DELAYS, destination=mail_server),
    Reaction(name=TELL_KEPT, run=tell_address_kept, delays=DELAYS, destination=mail_server),
    Reaction(name=TELL_ADDRESS, on=(UserChanged,), run=tell_address_changed, delays=DELAYS, destination=mail_server),
    Reaction(
        name=CONFIRM_ADDRESS,
        on=(AddressChangeRequested,),
        run=send_confirmation_link,
        delays=DELAYS,
        destination=mail_server,
    ),
    Reaction(
        name=TELL_REQUEST,
        on=(AddressChangeRequested,),
        run=tell_address_change_requested,
        delays=DELAYS,
        destination=mail_server,
    ),
    Reaction(name=SEND_LINK, run=send_deletion_link, delays=DELAYS, destination=mail_server),
    Reaction(
        name=TELL_CHANGE,
        on=(UserPasswordChanged,),
        run=tell_password_changed,
        delays=DELAYS,
        destination=mail_server,
    ),
    Reaction(
        name=NOTIFY,
        on=tuple(notice.event for notice in NOTICES.values()),
        run=notify,
        delays=DELAYS,
        destination=mail_server,
    ),
)
