"""Why an outgoing call was not made, and how one that was made can fail."""

from enum import StrEnum

import httpx2

from openslot.core.errors import Refusal, RefusalKind


class OutboundReason(StrEnum):
    """The rule that an outgoing call breaks."""

    TOO_LONG = "too_long"
    CHARACTERS = "characters"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    HOST = "host"
    PORT = "port"
    NUMBER = "number"
    NAME = "name"
    INSECURE = "insecure"
    ADDRESS = "address"
    METHOD = "method"
    HEADERS = "headers"


SENTENCES = {
    OutboundReason.TOO_LONG: "The URL is longer than 2048 characters.",
    OutboundReason.CHARACTERS: "The URL may hold printable ASCII only, without spaces or backslashes.",
    OutboundReason.SCHEME: "The URL must begin with https://.",
    OutboundReason.USERINFO: "The URL must not hold a user name or password.",
    OutboundReason.HOST: "The URL's host is not a full domain name or an IP address.",
    OutboundReason.PORT: "The URL's port is not open to outgoing calls.",
    OutboundReason.NUMBER: "The URL's IPv4 address must be four decimal numbers, such as 192.0.2.1.",
    OutboundReason.NAME: "The URL's host is a name of a private network.",
    OutboundReason.INSECURE: "The URL must begin with https://; http:// is for networks that the operator allows.",
    # Does not reveal the address: that would let strangers read the internal DNS.
    OutboundReason.ADDRESS: "The URL leads to an address that is not public.",
    OutboundReason.METHOD: "The method is not open to outgoing calls.",
    OutboundReason.HEADERS: "A header is not well formed, or belongs to the connection.",
}


class OutboundRefused(Refusal):
    """The URL may not be called, for example because its address is private; no connection was made."""

    code = "outbound_refused"
    kind = RefusalKind.INVALID

    def __init__(self, reason: OutboundReason) -> None:
        super().__init__(SENTENCES[reason])
        self.reason = reason


class Kind(StrEnum):
    """The step at which an outgoing call failed."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    TOO_LARGE = "too_large"


class OutboundFailed(httpx2.TransportError):
    """The call was allowed and the other side gave no whole answer."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
