"""What mail does because something happened or is due: mails, reminders, notices to hosts, and tidying up."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from openslot.domains.access.email_codes import SEND_CODE
from openslot.domains.access.events import AddressChangeRequested
from openslot.domains.access.resets.operations import SEND_RESET
from openslot.domains.accounts.events import InvitationCreated, SignUpRequested, UserChanged, UserPasswordChanged
from openslot.domains.accounts.operations import TELL_KEPT
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingDeclined,
    BookingEvent,
    BookingInvitationFailed,
    BookingLapsed,
    BookingLinkAdded,
    BookingReassigned,
    BookingRequested,
    BookingRequestReassigned,
    BookingRescheduled,
)
from openslot.domains.bookings.rules import is_over
from openslot.domains.bookings.takeovers import follow_takeover
from openslot.domains.mail import operations, reasons, store
from openslot.domains.mail.kinds.accounts import (
    send_confirmation_link,
    send_deletion_link,
    send_invitation,
    send_reset,
    send_sign_up,
    tell_address_change_requested,
    tell_address_changed,
    tell_address_kept,
    tell_password_changed,
)
from openslot.domains.mail.kinds.codes import send_code
from openslot.domains.mail.kinds.payments import tell_refunded
from openslot.domains.mail.kinds.reminders import FOLLOW_UP, REMIND, TEST, plan_again, plan_reminders, remind, send_test
from openslot.domains.mail.kinds.requests import ASK_HOST, ask_host, tell_requester
from openslot.domains.mail.kinds.series import write_series_draft
from openslot.domains.mail.kinds.teams import choose_kind, find_former, write_handover
from openslot.domains.mail.kinds.wait_list import ask_to_confirm, send_offer, tell_withdrawn
from openslot.domains.mail.letters import read_event, read_meeting, write_draft
from openslot.domains.mail.meetings import (
    MailHost,
    find_recipient,
    is_wanted,
    list_recipients,
    name_recipient,
    to_host,
    with_inviter,
    with_payment,
)
from openslot.domains.mail.models import MailKind, Recipient, RecipientRole
from openslot.domains.mail.notices import NOTICES, to_owner, write_notice
from openslot.domains.mail.operations import deliver, leave_unsent, mail_server
from openslot.domains.mail.rules import DELAYS
from openslot.domains.payments.events import PaymentRefunded
from openslot.domains.people.deletions import SEND_LINK
from openslot.domains.teams.events import EventTypeTakenOver
from openslot.domains.wait_list.events import WaitListJoined, WaitListOffered, WaitListOfferEnded
from openslot.domains.wait_list.reactions import plan_end_of_untold
from openslot.platform.core.events import Effect, Event
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Expanded, Outcome, Periodic, Reaction, Skipped, Target, Work
from openslot.platform.jobs.batches import delete_old

SEND = "mail.send"


async def fan_out(work: Work, effect: Effect) -> Outcome:
    """Make one mail for each participant of a meeting, and plan its reminders again."""
    event = read_event(effect)
    booking = event.booking
    hosts = await operations.find_hosts(work, event)
    if not hosts:
        return Skipped(reasons.NO_HOST)
    if _is_over(event, now=work.now):
        return Skipped(reasons.OVER)
    # What happens to bookings of a series is told in its order.
    lane = f"mail:series:{booking.series_id}" if booking.series_id else effect.lane
    former = await find_former(work, event)
    targets = tuple(
        Target(reaction=SEND, target=name_recipient(to), lane=f"{lane}@{_name_lane(event, to)}")
        for to in (*list_recipients(booking, hosts), *map(to_host, former))
        if event.told_by is None
        and (to.role is not RecipientRole.HOST or effect.event_type != BookingInvitationFailed.type)
    )
    if effect.event_type in {BookingLinkAdded.type, BookingInvitationFailed.type}:
        # Its time is the same, and so are its reminders.
        return Expanded(targets)
    return Expanded(targets, await plan_reminders(work, booking, hosts, effect.actor, former=former))


def _name_lane(event: BookingEvent, to: Recipient) -> str:
    """Name the lane of a recipient: the hosts of a team are found by it, also at a changed address."""
    return str(to.user_id) if event.hosts and to.user_id else fold_ascii(to.email)


def _is_over(event: BookingEvent, *, now: datetime) -> bool:
    """Answer whether a mail has lost its meaning; one about a series has it until the last date."""
    return is_over(event.booking, now=now) and all(each.ends_at <= now for each in event.series)


async def send(work: Work, effect: Effect) -> Outcome:
    """Notify one person of what happened to a meeting, or to all of a series."""
    event = read_event(effect)
    if _is_over(event, now=work.now):
        return await leave_unsent(work, effect, reasons.OVER)
    hosts, former = await operations.find_hosts(work, event), await find_former(work, event)
    recipient = _find_recipient(event, effect, hosts, former) if hosts else None
    if recipient is None:
        return await leave_unsent(work, effect, reasons.NO_HOST)
    kind = choose_kind(event, recipient)
    if not is_wanted((*hosts, *former), recipient, kind):
        return await leave_unsent(work, effect, reasons.UNWANTED)
    if kind is MailKind.HANDOVER:
        own = next(each for each in former if each.id == recipient.user_id)
        draft = write_handover(work.runtime, event, own, id_=effect.id, cause=effect.actor)
        return await deliver(work, effect, draft, effect.actor)
    meeting = await with_payment(work, read_meeting(work.runtime, event, hosts, cause=effect.actor))
    if recipient.role is not RecipientRole.HOST:
        meeting = await with_inviter(work, meeting)
    write = write_series_draft if meeting.dates else write_draft
    draft = write(meeting, kind, recipient, effect.id, effect.actor)
    return await deliver(work, effect, replace(draft, is_reserved=_is_reserved(event, recipient)), effect.actor)


def _is_reserved(event: BookingEvent, recipient: Recipient) -> bool:
    return isinstance(event, BookingCreated) and event.is_reserved and recipient.role is RecipientRole.INVITEE


def _find_recipient(
    event: BookingEvent, effect: Effect, hosts: tuple[MailHost, ...], former: tuple[MailHost, ...]
) -> Recipient | None:
    recipients = (*list_recipients(event.booking, hosts), *map(to_host, former))
    in_lane = (effect.lane or "").rpartition("@")[2]
    of_team = next((each.user_id for each in recipients if event.hosts and str(each.user_id) == in_lane), None)
    return find_recipient(recipients, effect.target, user_id=of_team)


async def notify(work: Work, effect: Effect) -> Outcome:
    """Notify someone about their account."""
    notice = NOTICES[effect.event_type]
    host = await operations.find_mail_host(work, effect.tenant_id) if effect.tenant_id else None
    if host is None:
        return Skipped(reasons.NO_HOST)
    if notice.topic is not None and notice.topic not in host.topics:
        return await leave_unsent(work, effect, reasons.UNWANTED)
    letter = notice.write(effect.event(notice.event))
    to, host_id = to_owner(host), effect.tenant_id
    draft = write_notice(effect, letter, to, host_id=host_id, is_security=notice.is_security)
    return await deliver(work, effect, draft, effect.actor)


PLAN_AGAIN = Reaction(name="mail.plan_again", run=plan_again, lane="mail")


async def follow_owner(_: Work, effect: Effect) -> Outcome:
    """Plan the reminders of all upcoming bookings again whose event type has another owner."""
    return follow_takeover(effect, PLAN_AGAIN)


def _mailing(
    name: str,
    run: Callable[[Work, Effect], Awaitable[Outcome]],
    *on: type[Event],
    unless_done: Callable[[Work, Effect], Awaitable[None]] | None = None,
) -> Reaction:
    return Reaction(name=name, on=on, run=run, delays=DELAYS, destination=mail_server, unless_done=unless_done)


MAIL_REACTIONS = (
    Reaction(
        name="mail.fan_out",
        on=(
            BookingCreated,
            BookingRescheduled,
            BookingReassigned,
            BookingCancelled,
            BookingLinkAdded,
            BookingInvitationFailed,
        ),
        run=fan_out,
        lane="mail",
    ),
    Reaction(name="mail.follow_owner", on=(EventTypeTakenOver,), run=follow_owner),
    PLAN_AGAIN,
    _mailing(SEND, send),
    _mailing(REMIND, remind),
    _mailing(FOLLOW_UP, remind),
    _mailing(TEST, send_test),
    _mailing("mail.invite", send_invitation, InvitationCreated),
    _mailing("mail.sign_up", send_sign_up, SignUpRequested),
    _mailing(SEND_RESET, send_reset),
    _mailing(SEND_CODE, send_code),
    _mailing(TELL_KEPT, tell_address_kept),
    _mailing("mail.address_changed", tell_address_changed, UserChanged),
    _mailing("mail.confirm_address", send_confirmation_link, AddressChangeRequested),
    _mailing("mail.address_change_requested", tell_address_change_requested, AddressChangeRequested),
    _mailing(SEND_LINK, send_deletion_link),
    _mailing("mail.password_changed", tell_password_changed, UserPasswordChanged),
    _mailing(ASK_HOST, ask_host, BookingRequested, BookingRequestReassigned),
    _mailing("mail.request", tell_requester, BookingRequested, BookingDeclined, BookingLapsed),
    _mailing("mail.wait_list", ask_to_confirm, WaitListJoined),
    _mailing("mail.offer", send_offer, WaitListOffered, unless_done=plan_end_of_untold),
    Reaction(
        name="mail.offer_withdrawn",
        on=(WaitListOfferEnded,),
        # Who has declined it or let it pass knows.
        wanted_if="v.fact ->> 'state' = 'withdrawn'",
        run=tell_withdrawn,
        delays=DELAYS,
        destination=mail_server,
    ),
    _mailing("mail.refunded", tell_refunded, PaymentRefunded),
    _mailing("mail.notify", notify, *(notice.event for notice in NOTICES.values())),
)


LOOKED_AT = 1000


async def tidy_mail(work: Work) -> str:
    """Close log entries of emails that are no longer tried, and remove emails past their retention."""
    failed = await store.fail_abandoned(work.db, limit=LOOKED_AT)
    before = work.now - timedelta(days=work.runtime.settings.keep_mail_days)
    removed = await delete_old(work.db, "mail_messages", "created_at", before=before)
    return f"{failed} given up, {removed} mails removed"


MAIL_JOBS = (Periodic(name="mail.tidy", expression="2-59/5 * * * *", run=tidy_mail, transaction="none"),)
