"""Turns network errors into failures of the other side, each with its kind."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpcore2

from openslot.core.outbound.errors import Kind, OutboundFailed
from openslot.core.outbound.streams import ResponseTooLong


@contextmanager
def told_as_failures(host: str) -> Iterator[None]:
    """Turn exceptions of the network into a failure that names the host."""
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as fault:
        raise OutboundFailed(Kind.TIMEOUT, f"{host} took too long to answer.") from fault
    except ResponseTooLong as fault:
        raise OutboundFailed(Kind.PROTOCOL, f"{host} sent too many headers.") from fault
    except httpcore2.ProtocolError as fault:
        raise OutboundFailed(Kind.PROTOCOL, f"{host} did not send a valid HTTP response.") from fault
    except httpcore2.NetworkError as fault:
        raise OutboundFailed(Kind.PROTOCOL, f"{host} closed the connection.") from fault
