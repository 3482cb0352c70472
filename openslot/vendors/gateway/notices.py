"""Notices of a gateway: who has signed them, and what they say of messages and calls."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from openslot.domains.messaging.models import CallNotice, CallProgress, InboundMessage, MediaRef, StatusNotice
from openslot.domains.messaging.ports import BadNotice, MalformedNotice
from openslot.domains.webhooks.rules import SignatureRefused, verify
from openslot.vendors.gateway.wire import GatewayCall, GatewayInbound, GatewayNotice, GatewayRequest, GatewayStatus

MAX_BYTES = 256 * 1024
LONGEST_REASON = 200

D = TypeVar("D")
NoticeRead = InboundMessage | StatusNotice | CallNotice


def read_notice(headers: Mapping[str, str], body: bytes, *, secrets: Sequence[str], now: datetime) -> NoticeRead:
    """Read a notice that one of the secrets has signed within these minutes, or refuse it.

    The names of the headers are in lower case. What is repeated within these minutes has the same id.
    """
    if len(body) > MAX_BYTES:
        raise BadNotice("the body is too long")
    try:
        verify(headers, body, secrets=secrets, now=now)
    except SignatureRefused as refused:
        raise BadNotice(str(refused)) from None
    type_ = _decode(body, GatewayNotice).type
    if type_ == "message.received":
        return _to_inbound(_decode(body, GatewayRequest[GatewayInbound]).data)
    if type_ == "message.status":
        return _to_status(_decode(body, GatewayRequest[GatewayStatus]).data)
    if type_ == "call.updated":
        return _to_call(_decode(body, GatewayRequest[GatewayCall]).data)
    raise MalformedNotice("type must be message.received, message.status or call.updated")


def _decode(body: bytes, kind: type[D]) -> D:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as fault:
        raise MalformedNotice(str(fault)[:LONGEST_REASON]) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MalformedNotice("the body is not JSON") from None


def _to_inbound(told: GatewayInbound) -> InboundMessage:
    return InboundMessage(
        id=told.id,
        channel=told.channel,
        sender=told.sender,
        recipient=told.recipient,
        body=told.body,
        media=tuple(MediaRef(ref=each.ref, content_type=each.content_type.lower()) for each in told.media),
        opt_out=told.opt_out,
        button_payload=told.button_payload,
        profile_name=told.profile_name,
        at=told.at,
    )


def _to_status(told: GatewayStatus) -> StatusNotice:
    return StatusNotice(id=told.id, status=told.status, code=told.code, reason=told.reason, at=told.at)


def _to_call(told: GatewayCall) -> CallNotice:
    seconds = told.duration_seconds
    if told.status is CallProgress.COMPLETED and seconds is None:
        raise MalformedNotice("durationSeconds is missing: it belongs to the status completed")
    return CallNotice(
        id=told.id,
        sequence=told.sequence,
        sender=told.sender,
        recipient=told.recipient,
        direction=told.direction,
        status=told.status,
        duration=None if seconds is None else timedelta(seconds=seconds),
        at=told.at,
        recording=told.recording,
        agent_name=told.agent_name,
        transcript=told.transcript,
    )
