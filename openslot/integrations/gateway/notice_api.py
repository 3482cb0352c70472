"""Where a gateway sends its notices: each is verified, kept and answered at once."""

from uuid import UUID

import structlog

from openslot.core.work import Work
from openslot.integrations.gateway.notices import MAX_BYTES, read_notice
from openslot.messaging import inbound
from openslot.messaging.errors import MessageNoticeRefused
from openslot.messaging.models import InboundMessage, ProviderName, StatusNotice
from openslot.messaging.ports import BadNotice
from openslot.routing import RateLimit, Request, Response, post

LIMIT = RateLimit("message-notices", 6000)
SIGNATURE = "webhook-signature"

log = structlog.get_logger()


@post("/api/notices/gateway/{connection_id}", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_gateway_notice(request: Request, work: Work, connection_id: UUID) -> Response:
    """Keep a message, or what has become of one."""
    if SIGNATURE not in request.headers:
        raise MessageNoticeRefused
    connection, credentials = await inbound.get_receiver(work, connection_id, ProviderName.GATEWAY)
    try:
        notice = read_notice(request.headers, request.body, secrets=credentials.tokens, now=work.now)
        if isinstance(notice, InboundMessage):
            inbound.check_receiver(connection, notice)
    except BadNotice as fault:
        log.info("a message notice was refused", connection=str(connection_id), reason=str(fault))
        raise MessageNoticeRefused from None
    async with work.transaction():
        if isinstance(notice, InboundMessage):
            await inbound.receive(work, connection, notice)
        elif isinstance(notice, StatusNotice):
            await inbound.keep_status(work, connection, notice)
    return Response(body={"received": True})
