"""Where a gateway sends its notices: each is verified, kept and answered at once."""

from uuid import UUID

import structlog

from openslot.domains.messaging import inbound
from openslot.domains.messaging.calls.operations import check_call_notice, receive_call
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.errors import MessageNoticeRefused
from openslot.domains.messaging.models import CallNotice, InboundMessage, ProviderName, StatusNotice
from openslot.domains.messaging.ports import BadNotice, MalformedNotice
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Request, Response, post
from openslot.vendors.gateway.notices import MAX_BYTES, NoticeRead, read_notice

LIMIT = RateLimit("message-notices", 6000)
SIGNATURE = "webhook-signature"

log = structlog.get_logger()


@post("/api/notices/gateway/{connection_id}", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_gateway_notice(request: Request, work: Work, connection_id: UUID) -> Response:
    """Keep a message, what has become of one, or a call."""
    return await _receive(request, work, connection_id)


@post("/api/notices/calls/{connection_id}", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_call_notice(request: Request, work: Work, connection_id: UUID) -> Response:
    """Keep a call that a voice agent has answered or made."""
    return await _receive(request, work, connection_id)


async def _receive(request: Request, work: Work, connection_id: UUID) -> Response:
    if SIGNATURE not in request.headers:
        raise MessageNoticeRefused
    connection, credentials = await inbound.get_receiver(work, connection_id, ProviderName.GATEWAY)
    try:
        notice = read_notice(request.headers, request.body, secrets=credentials.tokens, now=work.now)
        _check(work, connection, notice)
    except MalformedNotice as fault:
        # Whoever has signed it has the secret, and is told what to mend.
        raise Invalid(details={"body": str(fault)}) from None
    except BadNotice as fault:
        log.info("a message notice was refused", connection=str(connection_id), reason=str(fault))
        raise MessageNoticeRefused from None
    async with work.transaction():
        await _keep(work, connection, notice)
    return Response(body={"received": True})


def _check(work: Work, connection: MessagingConnection, notice: NoticeRead) -> None:
    if isinstance(notice, InboundMessage):
        inbound.check_receiver(connection, notice)
    elif isinstance(notice, CallNotice):
        check_call_notice(work, connection, notice)


async def _keep(work: Work, connection: MessagingConnection, notice: NoticeRead) -> None:
    if isinstance(notice, InboundMessage):
        await inbound.receive(work, connection, notice)
    elif isinstance(notice, StatusNotice):
        await inbound.keep_status(work, connection, notice)
    else:
        await receive_call(work, connection, notice)
