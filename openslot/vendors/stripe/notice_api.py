"""Where Stripe sends its notices: each is verified, kept and answered; the worker reads what it is about."""

from uuid import UUID

import structlog

from openslot.domains.payments.errors import InvalidNotice
from openslot.domains.payments.notices.operations import get_notice_receiver, keep_payment_notices
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Request, Response, post
from openslot.vendors.stripe.notices import PAYMENT_EVENTS, NoticeRefused, read_notice, verify

# Stripe sends bursts from few addresses, and repeats what is refused.
LIMIT = RateLimit("payment-notices", 1200)
MAX_BYTES = 512 * 1024
SIGNATURE = "stripe-signature"

log = structlog.get_logger()


@post("/api/notices/stripe/{connection_id}", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_notice(request: Request, work: Work, connection_id: UUID) -> Response:
    """Keep a notice of the account of a connection."""
    signature = request.headers.get(SIGNATURE)
    if not signature:
        raise InvalidNotice
    connection, secret = await get_notice_receiver(work, connection_id)
    try:
        verify(request.body, signature, secrets=(secret,), now=work.now)
        notice = read_notice(request.body, mode=connection.mode)
    except NoticeRefused as refused:
        log.info("a payment notice was refused", connection=str(connection_id), reason=str(refused))
        raise InvalidNotice from None
    if notice.type in PAYMENT_EVENTS:
        async with work.transaction():
            await keep_payment_notices(work, connection, [notice])
    return Response(body={"received": True})
