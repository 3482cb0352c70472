"""Exceptions that leave a handler: each becomes a refusal in the form of its door."""

import structlog

from openslot.core.db import BUSY, DOWN
from openslot.core.disk import REFUSED
from openslot.core.errors import Internal, Refusal, Unavailable
from openslot.core.outages import OUTAGE, is_lost, reason

log = structlog.get_logger()


def translate(exception: Exception) -> Refusal:
    """Return the refusal that tells the caller what an exception means; unexpected exceptions are logged."""
    if isinstance(exception, Refusal):
        return exception
    if isinstance(exception, (*DOWN, *BUSY)):
        REFUSED.note(exception)
        if is_lost(exception):
            OUTAGE.mention(exception)
        else:
            log.warning("database unavailable", error=reason(exception))
        return Unavailable()
    log.error("request failed", exc_info=exception)
    return Internal()
