"""Exceptions on their way out: every one becomes a refusal in the door's own shape."""

import structlog

from openslot.core.db import BUSY, DOWN, reason
from openslot.core.errors import Internal, Refusal, Unavailable

log = structlog.get_logger()


def translate(exception: Exception) -> Refusal:
    """Find the refusal that says what this exception means to the caller; what is our own fault is logged."""
    if isinstance(exception, Refusal):
        return exception
    if isinstance(exception, (*DOWN, *BUSY)):
        log.warning("database unavailable", error=reason(exception))
        return Unavailable()
    log.error("request failed", exc_info=exception)
    return Internal()
