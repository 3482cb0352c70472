"""Where Twilio sends its notices of messages and calls: each is verified, kept and answered at once."""

from uuid import UUID

import structlog

from openslot.domains.messaging import inbound
from openslot.domains.messaging.calls.operations import check_call_notice, receive_call, receive_recording
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.errors import MessageNoticeRefused
from openslot.domains.messaging.models import CallNotice, ProviderName, RecordingNotice
from openslot.domains.messaging.ports import BadNotice
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Request, Response, post
from openslot.vendors.twilio.notices import read_call_notice, read_form, read_inbound, read_status
from openslot.vendors.twilio.signature import MAX_BYTES, SIGNATURE, verify

# Twilio tries once, so a burst of messages must not reach it: 100 a second from one address.
LIMIT = RateLimit("message-notices", 6000)
NOTHING = Response(headers={"content-type": "text/xml"}, body=b"<Response/>")

log = structlog.get_logger()


@post("/api/notices/twilio/{connection_id}/messages", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_twilio_message(request: Request, work: Work, connection_id: UUID) -> Response:
    """Keep a message that has come to a connected number."""
    connection, form = await read_verified(request, work, connection_id)
    try:
        message = read_inbound(form)
        inbound.check_receiver(connection, message)
    except BadNotice as fault:
        raise refuse(connection_id, fault) from None
    async with work.transaction():
        await inbound.receive(work, connection, message)
    return NOTHING


@post("/api/notices/twilio/{connection_id}/status", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_twilio_status(request: Request, work: Work, connection_id: UUID) -> Response:
    """Keep what has become of a message that was sent from a connected number."""
    connection, form = await read_verified(request, work, connection_id)
    try:
        status = read_status(form)
    except BadNotice as fault:
        raise refuse(connection_id, fault) from None
    if status is not None:
        async with work.transaction():
            named = request.query.get("message", "")
            message_id = UUID(named) if SHAPE.fullmatch(named) else None
            await inbound.keep_status(work, connection, status, message_id=message_id)
    return NOTHING


@post("/api/notices/twilio/{connection_id}/calls", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_twilio_call(request: Request, work: Work, connection_id: UUID) -> Response:
    """Keep how a call with a connected number has ended, or its recording; Twilio expects no instructions."""
    connection, form = await read_verified(request, work, connection_id)
    try:
        told = read_call_notice(form)
        if isinstance(told, CallNotice):
            check_call_notice(work, connection, told)
    except BadNotice as fault:
        raise refuse(connection_id, fault) from None
    async with work.transaction():
        if isinstance(told, CallNotice):
            await receive_call(work, connection, told)
        elif isinstance(told, RecordingNotice):
            await receive_recording(work, connection, told)
    return Response(status=204)


async def read_verified(
    request: Request, work: Work, connection_id: UUID
) -> tuple[MessagingConnection, dict[str, str]]:
    """Read a form that Twilio has signed for the account of a connection, or refuse it."""
    if SIGNATURE not in request.headers:
        raise MessageNoticeRefused
    connection, credentials = await inbound.get_receiver(work, connection_id, ProviderName.TWILIO)
    query = request.query_string.decode("latin-1")
    url = f"{work.runtime.settings.public_url}{request.path}{query and f'?{query}'}"
    try:
        verify(url, request.body, request.headers, tokens=credentials.tokens)
        return connection, read_form(request.body, account=credentials.account)
    except BadNotice as fault:
        raise refuse(connection_id, fault) from None


def refuse(connection_id: UUID, fault: BadNotice) -> MessageNoticeRefused:
    log.info("a message notice was refused", connection=str(connection_id), reason=str(fault))
    return MessageNoticeRefused()
