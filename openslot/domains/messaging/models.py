"""The nouns of messaging: accounts of a provider, messages that go out and come in, and what became of them."""

from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.calls.models import CallDirection, CallStatus
from openslot.domains.conversations.models import Channel, MessageTemplate

# No provider takes more in one message.
LONGEST_BODY = 1600


class ProviderName(StrEnum):
    TWILIO = "twilio"
    GATEWAY = "gateway"
    """An HTTP service that the operator runs."""


class MessageCredentials(Struct, frozen=True, kw_only=True):
    """What opens an account; never stored or logged as it is."""

    account: str
    """Twilio's account SID, or the address of a gateway."""
    token: str
    """The secret that sends messages and verifies notices."""
    second_token: str | None = None
    """A second secret that verifies notices while the first one is replaced."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that a notice may be signed with."""
        return (self.token,) if self.second_token is None else (self.token, self.second_token)

    def __repr__(self) -> str:
        return "MessageCredentials(…)"


class NumberState(StrEnum):
    """Whether an account can send from a number."""

    READY = "ready"
    MISSING = "missing"
    """The account does not have this number."""
    NOT_CAPABLE = "not_capable"
    """The number is there, but not for this channel."""
    UNKNOWN = "unknown"
    """The provider does not tell; a test message does."""


class AccountCheck(Struct, frozen=True, kw_only=True):
    account_name: str | None
    number: NumberState


class RefusalReason(StrEnum):
    """Why a provider does not send a message, or could not deliver it."""

    OPTED_OUT = "opted_out"
    """The recipient has asked for no more messages."""
    INVALID_NUMBER = "invalid_number"
    """The recipient's number does not exist, or can't receive messages."""
    NOT_ALLOWED = "not_allowed"
    """The account may not send this, or not from this number, or not to this country."""
    OUTSIDE_WINDOW = "outside_window"
    """WhatsApp: the recipient has not written for 24 hours, so only a template can be sent."""
    NOT_FOUND = "not_found"
    """The provider does not have the message or the file."""
    OTHER = "other"


class DeliveryStatus(StrEnum):
    """How far a message has come, as the provider says."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    UNDELIVERED = "undelivered"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def rank(self) -> int:
        """A status with a higher rank replaces one with a lower rank, in whatever order they arrive."""
        return RANKS[self]

    @property
    def is_final(self) -> bool:
        """Whether no other status can follow."""
        return self is DeliveryStatus.READ or self.is_failure

    @property
    def is_failure(self) -> bool:
        return self in {DeliveryStatus.UNDELIVERED, DeliveryStatus.FAILED, DeliveryStatus.CANCELED}


RANKS = {status: rank for rank, status in enumerate(DeliveryStatus)}


def later(one: DeliveryStatus, other: DeliveryStatus) -> DeliveryStatus:
    """Choose the status that a message has when both were reported, whichever was reported first."""
    return max(one, other, key=lambda status: status.rank)


class OutboundMessage(Struct, frozen=True, kw_only=True):
    id: UUID
    """Our own id. A gateway sends the same id once; Twilio knows no such thing."""
    channel: Channel
    sender: str
    """E.164, like the recipient."""
    recipient: str
    body: str | None = None
    template: MessageTemplate | None = None
    """The template that is sent instead of a body."""
    validity: timedelta | None = None
    """How long the provider may try; after that the message is dropped, because it would arrive too late."""
    status_url: str | None = None
    """Where the provider reports what becomes of it."""


class SentMessage(Struct, frozen=True, kw_only=True):
    """A message that the provider has taken."""

    id: str
    """The provider's id."""
    status: DeliveryStatus
    code: str | None = None
    """The provider's code of the fault, where it was not delivered."""
    reason: RefusalReason | None = None
    """The meaning of the code."""


class BookingFacts(Struct, frozen=True, kw_only=True):
    """What decides whether a message about a booking is still of use."""

    is_confirmed: bool
    starts_at: datetime
    ends_at: datetime
    no_show: bool
    is_agreed: bool
    """Whether the invitee has agreed to messages to this number, and has not withdrawn it."""


class DropReason(StrEnum):
    """Why a message about a booking is not sent."""

    CANCELLED = "booking_cancelled"
    MOVED = "booking_moved"
    NOT_AGREED = "not_agreed"
    TOO_LATE = "too_late"
    NO_SHOW = "no_show"
    NOT_WANTED = "not_wanted"
    """The host has switched it off."""
    LATER_DUE = "later_due"
    NOT_CONNECTED = "not_connected"
    NO_TEMPLATE = "no_template"
    OPTED_OUT = "opted_out"
    LIMIT = "limit"
    COUNTRY = "country"


class MediaRef(Struct, frozen=True, kw_only=True):
    ref: str
    """The provider's reference. It is no address, and of no use without the account."""
    content_type: str
    """The content type, as the sender says."""


class MediaLimits(Struct, frozen=True, kw_only=True):
    max_bytes: int
    content_types: tuple[str, ...]
    """Allowed types, such as `image/png`, or `image/*` for all of a kind."""

    def allows(self, content_type: str) -> bool:
        kind, slash, _ = content_type.partition("/")
        return content_type in self.content_types or f"{kind}{slash}*" in self.content_types


class Media(Struct, frozen=True, kw_only=True):
    content: bytes
    content_type: str
    """Lower case, without parameters."""


class OptOut(StrEnum):
    STOP = "stop"
    START = "start"
    HELP = "help"


class InboundMessage(Struct, frozen=True, kw_only=True):
    id: str
    """The provider's id: each message is kept once by it."""
    channel: Channel
    sender: str
    """The provider's form of the sender, without the channel; mostly E.164, but short codes and names exist."""
    recipient: str
    body: str = ""
    media: tuple[MediaRef, ...] = ()
    opt_out: OptOut | None = None
    """The request that the provider has recognized and answered itself; None if it does not say."""
    button_payload: str | None = None
    """Our payload of the button that was pressed."""
    profile_name: str | None = None
    """The sender's name on WhatsApp, which anybody can choose."""
    at: datetime | None = None
    """None if the provider does not say."""


class StatusNotice(Struct, frozen=True, kw_only=True):
    id: str
    """The provider's id of the message."""
    status: DeliveryStatus
    code: str | None = None
    reason: RefusalReason | None = None
    at: datetime | None = None


class CallProgress(StrEnum):
    QUEUED = "queued"
    RINGING = "ringing"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    BUSY = "busy"
    NO_ANSWER = "no_answer"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def outcome(self) -> CallStatus | None:
        """How the call has ended; None while it goes on."""
        return OUTCOMES.get(self)


OUTCOMES = {
    CallProgress.COMPLETED: CallStatus.COMPLETED,
    CallProgress.BUSY: CallStatus.NO_ANSWER,
    CallProgress.NO_ANSWER: CallStatus.NO_ANSWER,
    CallProgress.FAILED: CallStatus.FAILED,
    CallProgress.CANCELED: CallStatus.FAILED,
}


class CallNotice(Struct, frozen=True, kw_only=True):
    id: str
    """The provider's id of the call."""
    sequence: int | None = None
    """Counts the notices of one call: each is kept once by id and sequence; None if there is one notice."""
    sender: str
    recipient: str
    direction: CallDirection
    status: CallProgress
    duration: timedelta | None = None
    """Set once the call has ended."""
    at: datetime | None = None
    """When this was so; None if the provider does not say."""
    recording: str | None = None
    """The reference for `fetch_media` and `delete_media`."""
    agent_name: str | None = None
    """The voice agent that spoke, where the provider says so."""
    transcript: str | None = None
    """Where the transcript is."""


class RecordingNotice(Struct, frozen=True, kw_only=True):
    """The recording of a call, which may be told before the call is over, or long after."""

    call_id: str
    ref: str
