"""Messages that go out: each waits in its thread, and the worker sends them one after the other, never one twice."""

import re
from datetime import timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.allowances.models import Allowance, CauseKind, Cost, CostCause
from openslot.domains.allowances.operations import note_refused_cost
from openslot.domains.allowances.rules import DAY
from openslot.domains.bookings.links import booking_url, manage_url
from openslot.domains.conversations.models import (
    Channel,
    ChannelNotConnected,
    Conversation,
    Message,
    MessagePurpose,
    MessageStatus,
)
from openslot.domains.conversations.operations import get_thread
from openslot.domains.conversations.outbox.operations import (
    BookingMessage,
    count_caused_messages,
    count_written_messages,
    find_next_message,
    finish_message,
    list_vendor_ids,
    put_message_back,
    queue_message,
    take_message,
)
from openslot.domains.conversations.outbox.store import WaitingMessage
from openslot.domains.messaging import inbound, rules
from openslot.domains.messaging.connections.accounts import (
    find_host_number,
    keep_number_failure,
    message_status_url,
    opened_message_account,
)
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.connections.store import find_messaging_connection
from openslot.domains.messaging.errors import (
    CountryNotAllowed,
    MessageLimitReached,
    RecipientOptedOut,
    WhatsAppWindowClosed,
)
from openslot.domains.messaging.models import LONGEST_BODY, DropReason, OutboundMessage, RefusalReason, SentMessage
from openslot.domains.messaging.ports import (
    MessageFault,
    MessageRefused,
    MessagesBusy,
    MessagesUnavailable,
    TokenRefused,
)
from openslot.domains.messaging.reminders.rules import find_lost_meaning
from openslot.domains.messaging.reminders.store import find_booking_facts
from openslot.platform.core.actor import SYSTEM, Destination
from openslot.platform.core.countries import is_allowed
from openslot.platform.core.effects import forget_effect
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.text import EMPTY, at_most_characters
from openslot.platform.core.work import AskedToWait, Done, Outcome, Reaction, TryLater, Waits, Work
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches.operations import find_stop

SEND = "messaging.send"
DELAYS = tuple(timedelta(seconds=s) for s in (5, 60, 600, 3600, 6 * 3600))
# WhatsApp takes free text only within this time after the contact's last message.
WHATSAPP_WINDOW = timedelta(hours=24)
# A message whose answer was lost is looked for during this time.
LOOKED_FOR = timedelta(minutes=2)
LOOK_AGAIN_AFTER = timedelta(seconds=30)
# Only at the end of a line: what comes before may be somebody's own words.
HOSTS_LINK = re.compile(rf"\S+/bookings/({SHAPE.pattern})$", re.MULTILINE)
NOT_CONNECTED = DropReason.NOT_CONNECTED
UNAVAILABLE = "unavailable"
HOST_LEFT = "host_left"


class SendingResult(Struct, frozen=True):
    """What became of a message."""

    status: MessageStatus
    vendor_id: str | None = None
    error: str | None = None
    """A `RefusalReason`, the provider's code, or one of the words above."""


async def find_number(work: Work, host: User, channel: Channel) -> MessagingConnection | None:
    """Find the number from which a host writes on a channel."""
    return await find_host_number(work, host, ConnectionChannel(channel.value))


async def reply(work: Work, host: User, conversation_id: UUID, content: str) -> Message:
    """Let a message be sent to the other side of a thread."""
    if not content.strip():
        raise Invalid(details={"content": EMPTY})
    if len(content) > LONGEST_BODY:
        raise Invalid(details={"content": at_most_characters(LONGEST_BODY)})
    thread = await get_thread(work, host, conversation_id)
    connection = require(await find_number(work, host, thread.channel), ChannelNotConnected)
    if is_window_closed(work, thread):
        raise WhatsAppWindowClosed
    return await queue(work, thread, connection, content, purpose=MessagePurpose.REPLY, sent_by=host.id)


def is_window_closed(work: Work, thread: Conversation) -> bool:
    """Tell whether WhatsApp would refuse a text, because the contact has not written for 24 hours."""
    if thread.channel is not Channel.WHATSAPP:
        return False
    return thread.last_inbound_at is None or work.now - thread.last_inbound_at >= WHATSAPP_WINDOW


async def queue(
    work: Work,
    thread: Conversation,
    connection: MessagingConnection,
    content: str,
    *,
    purpose: MessagePurpose,
    sent_by: UUID | None = None,
    about: BookingMessage | None = None,
) -> Message:
    """Let a message wait to be sent, in a transaction; refuse one that is not wanted, or one too many."""
    if await inbound.is_opted_out(work, connection, thread.contact_phone):
        raise RecipientOptedOut
    if sent_by is not None:
        await _check_written(work, thread)
    else:
        await _check_caused(work, thread, connection)
    message = await queue_message(
        work, thread, content, connection_id=connection.id, purpose=purpose, sent_by=sent_by, about=about
    )
    await plan_sending(work, message.conversation_id, connection)
    return message


async def _check_written(work: Work, thread: Conversation) -> None:
    """Refuse a message by hand beyond the half that hosts have for themselves, whatever others have caused."""
    written = await count_written_messages(work, thread.owner_id, thread.contact_phone)
    limit = work.runtime.settings.limit_messages
    if written >= limit - limit // 2:
        raise MessageLimitReached


async def _check_caused(work: Work, thread: Conversation, connection: MessagingConnection) -> None:
    """Refuse a message that others cause beyond the limits, or to a country that its number does not send to."""
    if not is_allowed(thread.contact_phone, number=connection.number, countries=connection.countries):
        _note_limit(work, thread, CauseKind.COUNTRY, 0)
        raise CountryNotAllowed
    settings = work.runtime.settings
    sent = await count_caused_messages(work, thread.owner_id, thread.contact_phone, connection_id=connection.id)
    counted = (
        (sent.of_host, settings.limit_messages // 2),
        (sent.of_number, settings.limit_messages_number),
        (sent.to_recipient, settings.limit_messages_recipient),
    )
    reached = next((most for count, most in counted if count >= most), None)
    if reached is not None:
        _note_limit(work, thread, CauseKind.LIMIT, reached)
        raise MessageLimitReached


def _note_limit(work: Work, thread: Conversation, kind: CauseKind, most: int) -> None:
    cause = CostCause(kind=kind, name=str(thread.owner_id))
    note_refused_cost(work.runtime, Cost.MESSAGE, cause, Allowance(most, DAY), host_id=thread.owner_id)


async def plan_sending(work: Work, conversation_id: UUID, connection: MessagingConnection) -> None:
    """Let the worker send what waits in a thread."""
    await work.plan(
        SEND,
        str(conversation_id),
        due_at=work.now,
        payload=conversation_id,
        tenant_id=connection.user_id,
        target=str(connection.id),
    )


async def send_next(work: Work, effect: Effect) -> Outcome:
    """Send the oldest message that waits in a thread, and plan the next one."""
    conversation_id = effect.plan(UUID)
    message = await find_next_message(work, conversation_id)
    if message is None:
        return Done(write=lambda work: forget_effect(work.db, effect.id))
    connection = message.connection_id and await find_messaging_connection(work.db, message.connection_id)
    if not connection or connection.token is None:
        result = SendingResult(MessageStatus.FAILED, error=NOT_CONNECTED)
    elif message.status is MessageStatus.SENDING:
        result = await _look_for(work, message, connection)
    else:
        sent = await _send(work, message, connection, is_last=effect.attempts > len(DELAYS))
        if isinstance(sent, Waits):
            return sent
        result = sent

    async def finish(work: Work) -> None:
        await finish_message(work, message.id, result.status, vendor_id=result.vendor_id, error=result.error)
        if connection and result.error == RefusalReason.OPTED_OUT:
            await inbound.keep_refusal(work, connection, message.phone, vendor_id=result.vendor_id)
        await forget_effect(work.db, effect.id)
        if connection and await find_next_message(work, conversation_id) is not None:
            await plan_sending(work, conversation_id, connection)

    return Done(vendor_id=result.vendor_id, write=finish)


async def _send(
    work: Work, message: WaitingMessage, connection: MessagingConnection, *, is_last: bool
) -> SendingResult | Waits:
    if lost := await _find_lost_meaning(work, message, connection):
        return SendingResult(MessageStatus.CANCELED, error=lost)
    # It is written down before the provider is asked: whoever finds it so after a crash looks before anything else.
    if not await take_message(work, message):
        stop = await find_stop(work, OutgoingChannel(message.channel.value))
        if stop is not None:
            return stop
        raise TryLater("the message was taken by somebody else", answered=True)
    try:
        async with opened_message_account(work.runtime, connection) as account:
            sent = await account.send(_write(work, message, connection))
    except MessageRefused as fault:
        return SendingResult(MessageStatus.FAILED, error=fault.reason)
    except MessagesUnavailable as fault:
        if fault.may_have_arrived:
            raise TryLater(str(fault), after=LOOK_AGAIN_AFTER) from None
        return await _put_back(work, message, connection, fault, is_last=is_last)
    except MessageFault as fault:
        return await _put_back(work, message, connection, fault, is_last=is_last)
    return _read(sent)


async def _find_lost_meaning(work: Work, message: WaitingMessage, connection: MessagingConnection) -> str | None:
    """Say why a message that waits is not sent any more; None if it is."""
    if not message.has_host:
        return HOST_LEFT
    if await inbound.is_opted_out(work, connection, message.phone):
        return RefusalReason.OPTED_OUT
    if message.booking_id is None or message.valid_until is None or message.purpose is None:
        return None
    facts = await find_booking_facts(work.db, message.booking_id, message.phone)
    return find_lost_meaning(facts, message.purpose, valid_until=message.valid_until, now=work.now)


async def _put_back(
    work: Work, message: WaitingMessage, connection: MessagingConnection, fault: MessageFault, *, is_last: bool
) -> SendingResult:
    """Let a message wait that the provider has not got, or end it after the last try."""
    if isinstance(fault, TokenRefused):
        await keep_number_failure(work, connection, fault)
    if is_last:
        return SendingResult(MessageStatus.FAILED, error=UNAVAILABLE)
    async with work.runtime.transaction(SYSTEM) as inside:
        await put_message_back(inside, message)
    if isinstance(fault, MessagesBusy):
        raise AskedToWait(str(fault), after=fault.after) if fault.after else TryLater(str(fault), answered=True)
    raise TryLater(str(fault))


async def _look_for(work: Work, message: WaitingMessage, connection: MessagingConnection) -> SendingResult:
    """Look for a message that the provider may have got; if it is not found, it is not sent again."""
    asked_at = message.asked_at or work.now
    known = await list_vendor_ids(work, message.conversation_id, since=asked_at - timedelta(days=1))
    found: SentMessage | None = None
    try:
        async with opened_message_account(work.runtime, connection) as account:
            found = await account.find_sent(_write(work, message, connection), since=asked_at, known=known)
    except MessageFault as fault:
        if work.now - asked_at < timedelta(hours=1):
            raise TryLater(str(fault), after=LOOK_AGAIN_AFTER) from None
    if found is not None:
        return _read(found)
    if work.now - asked_at < LOOKED_FOR:
        raise TryLater("the provider does not know the message yet", after=LOOK_AGAIN_AFTER, answered=True)
    return SendingResult(MessageStatus.UNKNOWN)


def _write(work: Work, message: WaitingMessage, connection: MessagingConnection) -> OutboundMessage:
    return OutboundMessage(
        id=message.id,
        channel=message.channel,
        sender=connection.number,
        recipient=message.phone,
        body=_fill_links(work, message),
        template=message.template,
        validity=message.valid_until - work.now if message.valid_until else None,
        status_url=message_status_url(work.runtime.settings, connection, message.id),
    )


def _fill_links(work: Work, message: WaitingMessage) -> str:
    """Write the manage links that only the invitee gets, where the text that is kept has the links for the host."""
    if message.booking_id is not None:
        hosts_link = booking_url(work.runtime, message.booking_id)
        return message.content.replace(hosts_link, manage_url(work.runtime, message.booking_id))
    if message.purpose is not MessagePurpose.ANSWER:
        return message.content
    return HOSTS_LINK.sub(lambda found: manage_url(work.runtime, UUID(found[1])), message.content)


def _read(sent: SentMessage) -> SendingResult:
    return SendingResult(rules.read_status(sent.status), vendor_id=sent.id, error=sent.reason or sent.code)


def to_number(_: Work, effect: Effect) -> Destination:
    """Ask the account of a number on behalf of its owner."""
    return Destination(f"messages/{effect.target}", effect.tenant_id)


SENDING_REACTIONS = (Reaction(name=SEND, run=send_next, destination=to_number, delays=DELAYS),)
