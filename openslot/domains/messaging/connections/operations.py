"""The verbs that connect and disconnect a number at a message provider."""

import re
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.members.store import find_role
from openslot.domains.accounts.models import Organization, User
from openslot.domains.messaging import host_numbers
from openslot.domains.messaging.connections import store
from openslot.domains.messaging.connections.accounts import (
    describe_fault,
    keep_number_failure,
    opened_by,
    opened_message_account,
    tell,
)
from openslot.domains.messaging.connections.events import (
    MessagingConnected,
    MessagingDisconnected,
    MessagingTokenReplaced,
)
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.errors import MessagingConnectionChanged, MessagingNotConnected, RecipientOptedOut
from openslot.domains.messaging.models import (
    AccountCheck,
    MessageCredentials,
    NumberState,
    OutboundMessage,
    ProviderName,
    SentMessage,
)
from openslot.domains.messaging.ports import AccountRefused, MessageFault, MessageRefused, TokenRefused
from openslot.domains.messaging.store import is_opted_out
from openslot.domains.messaging.words import REFUSALS
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.sealing import seal
from openslot.platform.core.text import is_line, parse_phone
from openslot.platform.core.work import Work
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.flags.switches.operations import find_stop
from openslot.platform.i18n import Text

REFUSED = Text("was refused. Check that all of it was copied, and that it belongs to this account")
NO_ACCOUNT = {
    ProviderName.TWILIO: Text("must be an account SID: AC and 32 digits or letters from a to f"),
    ProviderName.GATEWAY: Text("must be the public https address of a gateway"),
}
MISSING = Text("is not a number of this account")
NOT_CAPABLE = Text("can't be used for this channel")
NOT_CHECKED = Text("could not be checked (%(reason)s). Try again in a minute")
NOT_ACTIVE = Text("can't be used: the provider says that it is not active or not allowed")
NO_REPLIES = Text("is only for numbers that get messages")
NO_MEMBER = Text("must be an active member of the organization")
NOT_SENT = Text("got no message (%(reason)s)")
REFUSED_MESSAGE = Text("the provider refuses it")
STOPPED = Text("gets no message now: an administrator has stopped messages on this channel")
TEST = Text("This is a test message from %(name)s. Messages from this number work.")

ONLY_WHATSAPP = Text("is only for WhatsApp")
NO_TEMPLATE = Text("is not the id of a template; at Twilio it begins with HX and has 34 characters")
CONTENT_SID = re.compile(r"HX[0-9a-f]{32}", re.ASCII | re.IGNORECASE)

NumberOwner = User | Organization


class NumberWanted(Struct, frozen=True, kw_only=True):
    """A number to connect, with what opens its account."""

    provider: ProviderName = ProviderName.TWILIO
    channel: ConnectionChannel
    number: str
    account: str
    token: str
    second_token: str | None = None
    template: str | None = None
    """The provider's id of a template for reminders by WhatsApp; None if the known one is kept."""

    @property
    def credentials(self) -> MessageCredentials:
        return MessageCredentials(account=self.account, token=self.token, second_token=self.second_token)


class CheckedNumber(Struct, frozen=True, kw_only=True):
    """A number whose account was checked, and the connection in whose place it comes."""

    wanted: NumberWanted
    found: AccountCheck
    known: MessagingConnection | None

    @property
    def is_same(self) -> bool:
        """Whether the number is connected already, and gets another token."""
        known, wanted = self.known, self.wanted
        return known is not None and (known.provider, known.number, known.account) == (
            wanted.provider,
            wanted.number,
            wanted.account,
        )


async def check_number(work: Work, owner: NumberOwner, wanted: NumberWanted) -> CheckedNumber:
    """Ask the provider whether an account and its number can be used, and refuse what can't; begins no transaction."""
    try:
        wanted = replace(wanted, number=parse_phone(wanted.number))
    except ValueError as fault:
        raise Invalid(details={"number": fault.args[0]}) from None
    if wanted.template:
        check_template(wanted.provider, wanted.channel, wanted.template)
    known = await store.find_of_owner(work.db, owner.id, wanted.channel)
    try:
        async with opened_by(work.runtime, owner.id, wanted.provider, wanted.credentials) as account:
            found = await account.check(channel=wanted.channel, number=wanted.number)
    except AccountRefused:
        raise Invalid(details={"account": NO_ACCOUNT[wanted.provider]}) from None
    except TokenRefused:
        raise Invalid(details={"token": REFUSED}) from None
    except MessageRefused:
        raise Invalid(details={"account": NOT_ACTIVE}) from None
    except MessageFault as fault:
        raise Invalid(details={"account": NOT_CHECKED.fill(reason=describe_fault(fault))}) from None
    if found.number is NumberState.MISSING:
        raise Invalid(details={"number": MISSING})
    if found.number is NumberState.NOT_CAPABLE:
        raise Invalid(details={"number": NOT_CAPABLE})
    return CheckedNumber(wanted=wanted, found=found, known=known)


async def connect_messaging_number(work: Work, owner: NumberOwner, checked: CheckedNumber) -> MessagingConnection:
    """Keep a number that was checked: with its new token if it was connected, or in the place of another one."""
    await store.lock_owner(work.db, owner.id)
    known = await store.find_of_owner(work.db, owner.id, checked.wanted.channel)
    if (known and known.id) != (checked.known and checked.known.id):
        raise MessagingConnectionChanged
    if known is not None and checked.is_same:
        return await _replace_token(work, known, checked)
    if known is not None:
        await _end(work, known)
    return await _insert(work, owner, checked)


async def list_number_connections(work: Work, owner: NumberOwner) -> list[MessagingConnection]:
    """List the numbers that a user or an organization itself has connected."""
    return await store.list_of_owner(work.db, owner.id)


async def list_all_number_connections(work: Work) -> list[MessagingConnection]:
    return await store.list_live(work.db)


async def get_number_connection(work: Work, owner: NumberOwner | None, connection_id: UUID) -> MessagingConnection:
    """Read a live connection of a user or an organization itself; without an owner, of anybody, for the operator."""
    found = await store.find_messaging_connection(work.db, connection_id)
    if found is None or found.token is None or (owner is not None and found.owner_id != owner.id):
        raise MessagingNotConnected
    return found


async def disconnect_messaging_number(
    work: Work, owner: NumberOwner | None, connection_id: UUID
) -> MessagingConnection:
    """Delete a connection's tokens; its messages and calls stay."""
    await store.lock_owner(work.db, (await get_number_connection(work, owner, connection_id)).owner_id)
    connection = await get_number_connection(work, owner, connection_id)
    await _end(work, connection)
    await host_numbers.tell_disconnected(work, connection)
    return connection


async def choose_number_host(
    work: Work, organization: Organization, connection_id: UUID, host_id: UUID | None
) -> MessagingConnection:
    """Choose which member gets messages of strangers; None for an owner."""
    await store.lock_owner(work.db, organization.id)
    connection = await get_number_connection(work, organization, connection_id)
    if host_id and await find_role(work.db, organization.id, host_id) is None:
        raise Invalid(details={"defaultHost": NO_MEMBER})
    changed = replace(connection, default_host_id=host_id)
    await store.update(work.db, changed)
    return changed


async def allow_cancelling_by_message(
    work: Work, owner: NumberOwner, connection_id: UUID, *, can_cancel: bool
) -> MessagingConnection:
    """Choose whether people cancel a meeting by replying C to its reminder; a number for calls has none."""
    await store.lock_owner(work.db, owner.id)
    connection = await get_number_connection(work, owner, connection_id)
    if connection.channel.messages is None and can_cancel:
        raise Invalid(details={"canCancel": NO_REPLIES})
    changed = replace(connection, can_cancel=can_cancel)
    await store.update(work.db, changed)
    return changed


async def set_number_template(
    work: Work, owner: NumberOwner, connection_id: UUID, template: str | None
) -> MessagingConnection:
    """Choose the template for reminders on WhatsApp; without one, only people who have just written are reminded."""
    await store.lock_owner(work.db, owner.id)
    connection = await get_number_connection(work, owner, connection_id)
    if template:
        check_template(connection.provider, connection.channel, template)
    changed = replace(connection, template=template or None)
    await store.update(work.db, changed)
    return changed


async def set_number_countries(
    work: Work, owner: NumberOwner, connection_id: UUID, countries: tuple[str, ...]
) -> MessagingConnection:
    """Choose the countries that a number sends messages to; none: its own."""
    await store.lock_owner(work.db, owner.id)
    connection = await get_number_connection(work, owner, connection_id)
    if connection.channel.messages is None and countries:
        raise Invalid(details={"countries": NO_REPLIES})
    changed = replace(connection, countries=countries)
    await store.update(work.db, changed)
    return changed


def check_template(provider: ProviderName, channel: ConnectionChannel, template: str) -> None:
    """Refuse what can't be the provider's id of a template."""
    if channel is not ConnectionChannel.WHATSAPP:
        raise Invalid(details={"template": ONLY_WHATSAPP})
    is_known = CONTENT_SID.fullmatch(template) is not None if provider is ProviderName.TWILIO else len(template) <= 100
    if not is_known or not is_line(template):
        raise Invalid(details={"template": NO_TEMPLATE})


async def check_connection(work: Work, connection: MessagingConnection) -> None:
    """Ask the provider whether a connected number can still be used, and keep the answer; begins no transaction."""
    try:
        async with opened_message_account(work.runtime, connection) as account:
            await account.check(channel=connection.channel, number=connection.number)
    except MessageFault as fault:
        await keep_number_failure(work, connection, fault)
        return
    async with work.transaction():
        await store.keep_success(work.db, connection.id, now=work.now)


async def send_messaging_test(work: Work, connection: MessagingConnection, *, recipient: str, name: str) -> SentMessage:
    """Send a message to the owner's own phone at once; begins no transaction."""
    channel = connection.channel.messages
    if channel is None:
        raise MessagingNotConnected
    try:
        recipient = parse_phone(recipient)
    except ValueError as fault:
        raise Invalid(details={"phone": fault.args[0]}) from None
    if await is_opted_out(work.db, connection, recipient):
        raise RecipientOptedOut
    if await find_stop(work, OutgoingChannel(channel.value)) is not None:
        raise Invalid(details={"phone": STOPPED})
    message = OutboundMessage(
        id=new_id(), channel=channel, sender=connection.number, recipient=recipient, body=str(TEST.fill(name=name))
    )
    try:
        async with opened_message_account(work.runtime, connection) as account:
            return await account.send(message)
    except MessageRefused as refused:
        reason = REFUSALS.get(refused.reason, REFUSED_MESSAGE)
        raise Invalid(details={"phone": NOT_SENT.fill(reason=reason)}) from None
    except MessageFault as fault:
        raise Invalid(details={"phone": NOT_SENT.fill(reason=describe_fault(fault))}) from None


async def _replace_token(work: Work, known: MessagingConnection, checked: CheckedNumber) -> MessagingConnection:
    """Use another token; the one before verifies notices until it is replaced too, or a second one is given."""
    wanted = checked.wanted
    is_new = known.token is not None and work.runtime.secrets.open(known.token) != wanted.token
    second = await seal(work, wanted.second_token) if wanted.second_token else known.second_token
    changed = replace(
        known,
        token=await seal(work, wanted.token),
        second_token=known.token if is_new and not wanted.second_token else second,
        account_name=checked.found.account_name or known.account_name,
        template=wanted.template or known.template,
        last_checked_at=work.now,
        last_error=None,
        failing_since=None,
        told_at=None,
    )
    await store.update(work.db, changed)
    await work.record(MessagingTokenReplaced(**tell(changed)))
    return changed


async def _insert(work: Work, owner: NumberOwner, checked: CheckedNumber) -> MessagingConnection:
    wanted = checked.wanted
    connection = MessagingConnection(
        id=new_id(),
        user_id=owner.id if isinstance(owner, User) else None,
        organization_id=owner.id if isinstance(owner, Organization) else None,
        provider=wanted.provider,
        channel=wanted.channel,
        number=wanted.number,
        account=wanted.account,
        account_name=checked.found.account_name,
        template=wanted.template,
        token=await seal(work, wanted.token),
        second_token=await seal(work, wanted.second_token) if wanted.second_token else None,
        last_checked_at=work.now,
        connected_at=work.now,
    )
    await store.insert(work.db, connection)
    await work.record(MessagingConnected(**tell(connection)))
    await host_numbers.follow(work, connection)
    return connection


async def _end(work: Work, connection: MessagingConnection) -> None:
    await store.update(work.db, replace(connection, token=None, second_token=None, disconnected_at=work.now))
    await work.record(MessagingDisconnected(**tell(connection)))
