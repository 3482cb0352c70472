"""Turns network errors into failures of the other side, each with its kind."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpcore2

from openslot.core.outbound.errors import (
    BROKEN_OFF,
    MANY_HEADERS,
    NOT_HTTP,
    SLOW_TO_ANSWER,
    FailureKind,
    OutboundFailed,
)
from openslot.core.outbound.streams import ResponseTooLong


@contextmanager
def told_as_failures(host: str) -> Iterator[None]:
    """Turn exceptions of the network into a failure that names the host."""
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as fault:
        raise OutboundFailed(FailureKind.TIMEOUT, SLOW_TO_ANSWER.fill(host=host)) from fault
    except ResponseTooLong as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, MANY_HEADERS.fill(host=host)) from fault
    except httpcore2.ProtocolError as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, NOT_HTTP.fill(host=host)) from fault
    except httpcore2.NetworkError as fault:
        raise OutboundFailed(FailureKind.PROTOCOL, BROKEN_OFF.fill(host=host)) from fault
