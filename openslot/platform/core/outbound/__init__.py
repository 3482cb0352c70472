"""The one guarded client for every outgoing URL that a user gave."""

from openslot.platform.core.outbound.client import Outbound, OutboundResponse
from openslot.platform.core.outbound.resolver import Resolver, open_system_resolver
from openslot.platform.core.outbound.targets import (
    FailureKind,
    OutboundFailed,
    OutboundReason,
    OutboundRefused,
    check_url,
)
from openslot.platform.core.outbound.transport import GuardedTransport, RequestLimits

__all__ = [
    "FailureKind",
    "GuardedTransport",
    "Outbound",
    "OutboundFailed",
    "OutboundReason",
    "OutboundRefused",
    "OutboundResponse",
    "RequestLimits",
    "Resolver",
    "check_url",
    "open_system_resolver",
]
