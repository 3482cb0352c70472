"""The one guarded client for every outgoing URL that a user gave."""

from openslot.core.outbound.client import Answer, Outbound
from openslot.core.outbound.errors import Kind, OutboundFailed, OutboundRefused, Reason
from openslot.core.outbound.resolver import Resolver
from openslot.core.outbound.targets import check_url

__all__ = ["Answer", "Kind", "Outbound", "OutboundFailed", "OutboundRefused", "Reason", "Resolver", "check_url"]
