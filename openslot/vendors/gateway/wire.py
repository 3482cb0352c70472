"""What Openslot and a gateway say to each other, as JSON; docs/message-gateway.md describes it."""

from datetime import datetime
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from msgspec import Meta, Struct, field

from openslot.domains.calls.models import CallDirection
from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import CallProgress, DeliveryStatus, NumberState, OptOut, RefusalReason
from openslot.platform.core.text import LINE, ShortLine

VendorId = Annotated[str, Meta(min_length=1, max_length=255)]
# Text that can be written into a line of a log of calls.
CallId = Annotated[str, Meta(min_length=1, max_length=255, pattern=LINE)]
PhoneText = Annotated[str, Meta(min_length=1, max_length=64)]
RefText = Annotated[str, Meta(min_length=1, max_length=1024)]
AwareTime = Annotated[datetime, Meta(tz=True)]

D = TypeVar("D")


class GatewayRequest(Struct, Generic[D], frozen=True):
    type: str
    data: D


class GatewayNumber(Struct, frozen=True, rename="camel"):
    channel: ConnectionChannel
    number: str


class GatewayTemplate(Struct, frozen=True, rename="camel"):
    id: str
    variables: dict[str, str] = {}


class GatewayMessage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    message_id: UUID
    channel: Channel
    sender: str = field(name="from")
    recipient: str = field(name="to")
    body: str | None = None
    template: GatewayTemplate | None = None
    valid_seconds: int | None = None


class MessageKey(Struct, frozen=True, rename="camel"):
    """Openslot's own id of a message."""

    message_id: UUID


class VendorKey(Struct, frozen=True):
    """The gateway's id of a message."""

    id: str


class MediaKey(Struct, frozen=True):
    ref: str


class GatewayAccountAnswer(Struct, frozen=True):
    name: str | None = None
    number: NumberState = NumberState.UNKNOWN


class GatewaySent(Struct, frozen=True, kw_only=True):
    id: VendorId
    status: DeliveryStatus
    code: str | None = None
    reason: RefusalReason | None = None


class GatewayFound(Struct, frozen=True):
    message: GatewaySent | None = None


class GatewayFault(Struct, frozen=True):
    reason: str = "other"
    code: str | None = None


class GatewayFaultAnswer(Struct, frozen=True):
    error: GatewayFault = GatewayFault()


class GatewayMedia(Struct, frozen=True, kw_only=True, rename="camel"):
    ref: RefText
    content_type: str = ""


class GatewayNotice(Struct, frozen=True):
    type: str


class GatewayInbound(Struct, frozen=True, kw_only=True, rename="camel"):
    id: VendorId
    channel: Channel
    sender: PhoneText = field(name="from")
    recipient: PhoneText = field(name="to")
    body: str = ""
    media: Annotated[list[GatewayMedia], Meta(max_length=10)] = []
    opt_out: OptOut | None = None
    button_payload: str | None = None
    profile_name: str | None = None
    at: AwareTime | None = None


class GatewayStatus(Struct, frozen=True, kw_only=True):
    id: VendorId
    status: DeliveryStatus
    code: str | None = None
    reason: RefusalReason | None = None
    at: AwareTime | None = None


class GatewayCall(Struct, frozen=True, kw_only=True, rename="camel"):
    id: CallId
    sequence: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    sender: PhoneText = field(name="from")
    recipient: PhoneText = field(name="to")
    direction: CallDirection
    status: CallProgress
    duration_seconds: Annotated[int, Meta(ge=0, le=7 * 86400)] | None = None
    at: AwareTime | None = None
    recording: RefText | None = None
    agent_name: ShortLine | None = None
    transcript: RefText | None = None
