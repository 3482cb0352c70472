"""The verbs of mail, the only writers of its tables: send it, log it, keep it, read it, choose what is sent."""

from uuid import UUID

from msgspec import json
from msgspec.structs import asdict

from openslot.domains.accounts.models import DEFAULT_COLOR, PRODUCT, Brand, User
from openslot.domains.accounts.profiles.operations import to_branded_host
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.models import CauseKind, Cost, CostCause
from openslot.domains.allowances.operations import find_account, has_spent, spend
from openslot.domains.bookings.events import BookingEvent
from openslot.domains.bookings.models import Booking, BookingDetails
from openslot.domains.bookings.strangers.operations import is_stranger
from openslot.domains.mail import reasons, rules, store
from openslot.domains.mail.events import MailLimitReached
from openslot.domains.mail.meetings import MailHost
from openslot.domains.mail.message import ascii_address, needs_utf8, write_message, write_message_id
from openslot.domains.mail.models import (
    MAILBOX,
    Draft,
    KeptMail,
    Mail,
    MailAddress,
    MailKind,
    MailNotFound,
    MailStatus,
    MailTopic,
    decide_topics,
    list_choices,
)
from openslot.domains.mail.ports import MailDeferred, Mailer, MailRefused, OutgoingMail
from openslot.domains.mail.rendering import render
from openslot.domains.mail.rules import is_last_try
from openslot.platform.core.actor import SYSTEM, Actor, Destination
from openslot.platform.core.events import Effect
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.work import Done, GiveUp, Outcome, Runtime, Skipped, TryLater, Work
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches.operations import find_stop
from openslot.platform.i18n import CodedReason

PURPOSE, RECIPIENT = "mail", "mail recipient"
MAX_MAILS_KEPT = 1000
"""How many mails of the mailbox are counted; more are only known to be more."""
_read_choices = json.Decoder(dict[str, bool]).decode


class Mailbox:
    """Keeps messages instead of sending them, each only once however often it is sent."""

    name = MAILBOX

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def send(self, mail: OutgoingMail) -> None:
        sealed = self._runtime.cipher.seal(PURPOSE, mail.content, owner=mail.id.bytes)
        await store.keep_content(self._runtime.work(SYSTEM).db, mail.id, sealed)


async def find_mail_host(work: Work, host_id: UUID, *, color: str = DEFAULT_COLOR) -> MailHost | None:
    """Read a host with the brand of their mail: their own, their organization's, or their name in this color."""
    row = await store.find_host(work.db, host_id)
    if row is None:
        return None
    topics = decide_topics(_read_choices(row["choices"] or "{}"))
    return MailHost(**asdict(to_branded_host(work.runtime, row, color=color)), id=host_id, topics=topics)


async def find_hosts(work: Work, told: BookingEvent | BookingDetails) -> tuple[MailHost, ...]:
    """Read who hosts a booking, the organizer first: those of a team, or its owner; nobody if they are gone."""
    ids = [each.user_id for each in told.hosts] or [told.booking.host_id]
    found = [await find_mail_host(work, each, color=told.event_type.color) for each in ids]
    return tuple(each for each in found if each is not None)


def choose_mailer(runtime: Runtime, cause: Actor) -> Mailer:
    """Choose the mailer of a mail; mail that demo data causes never leaves the installation."""
    mailer = None if cause.is_demo else runtime.ports.find(Mailer)
    return mailer or Mailbox(runtime)


def sends_mail(runtime: Runtime) -> bool:
    """Answer whether mail leaves the installation; if not, it stays in the embedded mailbox and nobody gets it."""
    return runtime.ports.find(Mailer) is not None


async def count_kept_mails(work: Work, reader: User) -> int:
    """Count the mails in the embedded mailbox: all of them for an administrator of the platform, else the reader's."""
    return await store.count_kept(work.db, None if reader.is_admin else reader.id, max_=MAX_MAILS_KEPT)


def mail_server(work: Work, _: Effect) -> Destination | None:
    """Name the destination of mail: one server, owned by the operator; none for the embedded mailbox."""
    return Destination("mail server", None, is_operators=True) if work.runtime.settings.smtp_url else None


async def deliver(work: Work, effect: Effect, draft: Draft, cause: Actor) -> Outcome:
    """Send one mail, unless email is stopped; its result is in the log before the effect is closed."""
    mailer = choose_mailer(work.runtime, cause)
    if draft.is_public or draft.is_by_host:
        async with work.runtime.transaction(SYSTEM) as counted:
            mail = await begin_mail(counted, draft, mailer)
    else:
        mail = await begin_mail(work, draft, mailer)
    if isinstance(mail, CodedReason):
        return Skipped(mail)
    if mail is not None:
        if not draft.is_security and (stop := await find_stop(work, OutgoingChannel.EMAIL)) is not None:
            return stop
        try:
            await mailer.send(mail)
        except MailRefused as fault:
            await _fail(work, effect, str(fault))
            raise GiveUp(str(fault), answered=True) from fault
        except MailDeferred as fault:
            if is_last_try(effect.attempts):
                await _fail(work, effect, str(fault))
            raise TryLater(str(fault), answered=fault.answered) from fault
    return Done(changes=(store.finish_mail(effect.id, now=work.runtime.clock()),))


async def leave_unsent(work: Work, effect: Effect, reason: CodedReason) -> Skipped:
    """Leave a mail unsent; if it was tried before, the log says so."""
    await _fail(work, effect, f"not sent: {reason.said}")
    return Skipped(reason)


async def _fail(work: Work, effect: Effect, error: str) -> None:
    async with work.runtime.transaction(SYSTEM) as failed:
        await store.fail_mail(failed.db, effect.id, error[:1000])


async def begin_mail(work: Work, draft: Draft, mailer: Mailer) -> OutgoingMail | CodedReason | None:
    """Write an email and log it; return which limit is reached if it must not be sent, None if it was sent before.

    Mail that is counted needs a transaction of its own, so that concurrent counts see it.
    """
    rendered = render(draft.letter, draft.brand, draft.locale, postal_address=work.runtime.settings.postal_address)
    find_limit = _find_limit if draft.is_public else _find_allowance if draft.is_by_host else None
    limit = await find_limit(work, draft) if find_limit else None
    written_at = await store.log_mail(
        work.db,
        draft,
        subject=rendered.logged_subject,
        status=MailStatus.FAILED if limit else MailStatus.SENDING,
        transport=mailer.name,
        error=f"not sent: {limit.said}" if limit else None,
        now=work.now,
    )
    if limit is not None or written_at is None:
        return limit
    sender = _sender(work.runtime, draft.brand)
    to = MailAddress(draft.recipient.email, draft.recipient.name or "")
    mail = Mail(
        id=draft.id,
        sender=sender,
        to=to,
        reply_to=draft.reply_to,
        subject=rendered.subject,
        text=rendered.text,
        html=rendered.html,
        language=draft.locale.language.tag,
        written_at=written_at,
        thread=f"{draft.booking_id}" if draft.booking_id else None,
        calendar=draft.calendar,
        unsubscribe_url=draft.unsubscribe_url,
    )
    return OutgoingMail(
        id=draft.id,
        sender=ascii_address(sender.email),
        recipient=ascii_address(to.email),
        content=write_message(mail),
        needs_utf8=any(needs_utf8(each) for each in (sender, to, draft.reply_to) if each is not None),
    )


async def _find_limit(work: Work, draft: Draft) -> CodedReason | None:
    settings, since = work.runtime.settings, work.now - rules.LIMIT_WINDOW
    counted = await store.count_public(work.db, draft, since=since)
    if counted.to_recipient >= (most := settings.limit_mail_recipient):
        return reasons.LIMIT.fill(limit=f"the public has set off {most} mails to this address within 24 hours")
    pot = rules.find_pot(draft.kind, draft.recipient.role)
    if pot is None or draft.host_id is None or draft.is_reserved:
        return None
    size = rules.size_of(pot, settings.limit_mail_host)
    if rules.has_room(pot, counted, size):
        return None
    if await store.reach_limit(work.db, draft.host_id, pot, now=work.now, told_since=since):
        await work.record(MailLimitReached(host_id=draft.host_id, pot=pot, limit=size))
    kind = f"mails of this kind ({pot}) for this host"
    return reasons.LIMIT.fill(limit=f"the public has set off {size} {kind} within 24 hours")


async def is_told(work: Work, booking: Booking, kind: MailKind) -> bool:
    """Answer whether an invitee is sent an email about what the public has just done to a booking, or was sent it.

    Its page says so if not: nothing else has its link.
    """
    if await find_stop(work, OutgoingChannel.EMAIL) is not None:
        return False
    told = await store.find_told(work.db, booking, kind, since=work.now - rules.LIMIT_WINDOW)
    if told.status is not None:
        return told.status is not MailStatus.FAILED
    settings, pot = work.runtime.settings, rules.POTS[kind]
    has_room = told.is_reserved or rules.has_room(pot, told.counted, rules.size_of(pot, settings.limit_mail_host))
    return has_room and told.counted.to_recipient < settings.limit_mail_recipient


async def _find_allowance(work: Work, draft: Draft) -> CodedReason | None:
    """Count a mail to others for the account of the host, once however often it is tried.

    What is repeated costs a stranger each time. Of accounts for which nobody vouches, one person is sent as many as the
    public may set off, by all of them together.
    """
    host_id, email = draft.host_id, draft.recipient.email
    if host_id is None or await store.is_begun(work.db, draft.id):
        return None
    account = await find_account(work, host_id)
    if account is None:
        return None
    if not account.is_trusted and not await _has_spent_recipient(work, email):
        most = work.runtime.settings.limit_mail_recipient
        return reasons.LIMIT.fill(limit=f"new accounts have set off {most} mails to this address within 24 hours")
    if not draft.is_repeated or not await is_stranger(work, host_id, email, is_trusted=account.is_trusted):
        return None
    try:
        await spend(work, Cost.MAIL, [account])
    except AllowanceUsed as used:
        return reasons.LIMIT.fill(limit=used.message)
    return None


async def _has_spent_recipient(work: Work, email: str) -> bool:
    """Spend one mail to a mailbox, whose address is not kept."""
    mailbox = await store.name_mailbox(work.db, email)
    name = work.runtime.signer.sign(RECIPIENT, mailbox.encode()).hex()
    everybody = CostCause(kind=CauseKind.LIMIT, name=name)
    most = work.runtime.settings.limit_mail_recipient
    return await has_spent(work, Cost.MAIL, [everybody], scope="recipient", most=most)


def _sender(runtime: Runtime, brand: Brand) -> MailAddress:
    chosen = runtime.settings.mail_from
    if chosen is None:
        return MailAddress("openslot@localhost", brand.name)
    return MailAddress(chosen.email, chosen.name or brand.name)


def name_mail_message(runtime: Runtime, mail_id: UUID) -> str:
    return write_message_id(mail_id, _sender(runtime, PRODUCT))


async def list_kept_mails(
    work: Work, *, recipient: str | None, booking_id: UUID | None, limit: int, offset: int = 0
) -> list[KeptMail]:
    return await store.list_mail(work.db, recipient=recipient, booking_id=booking_id, limit=limit, offset=offset)


async def get_mail(work: Work, mail_id: UUID) -> tuple[KeptMail, bytes | None]:
    """Read a mail, with its message if the embedded mailbox has it."""
    found = await store.find_mail(work.db, mail_id)
    if found is None:
        raise MailNotFound
    mail, sealed = found
    return mail, open_content(work.runtime, mail_id, sealed)


def open_content(runtime: Runtime, mail_id: UUID, sealed: bytes | None) -> bytes | None:
    """Open a kept message; None if there is none, or the key that sealed it is lost."""
    if sealed is None:
        return None
    try:
        return runtime.cipher.open(PURPOSE, sealed, owner=mail_id.bytes)
    except SealBroken:
        return None


async def get_mail_topics(work: Work, host: User) -> frozenset[MailTopic]:
    return decide_topics(await store.find_choices(work.db, host.id))


async def set_mail_topics(work: Work, host: User, wanted: frozenset[MailTopic]) -> None:
    """Choose which mails a host gets; mail to invitees and about the account's security is not concerned."""
    await store.replace_choices(work.db, host.id, list_choices(wanted), now=work.now)
