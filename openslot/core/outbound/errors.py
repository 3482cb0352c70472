"""Why an outgoing call was not made, and how one that was made can fail."""

from enum import StrEnum

import httpx2

from openslot.core.errors import Refusal, RefusalKind
from openslot.i18n import Text


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
    OutboundReason.TOO_LONG: Text("The URL is longer than 2048 characters."),
    OutboundReason.CHARACTERS: Text("The URL may contain printable ASCII only, without spaces or backslashes."),
    OutboundReason.SCHEME: Text("The URL must begin with https://."),
    OutboundReason.USERINFO: Text("The URL must not contain a user name or password."),
    OutboundReason.HOST: Text("The URL's host is not a full domain name or an IP address."),
    OutboundReason.PORT: Text("The URL's port is not open to outgoing requests."),
    OutboundReason.NUMBER: Text("The URL's IPv4 address must be four decimal numbers, such as 192.0.2.1."),
    OutboundReason.NAME: Text("The URL's host is a name of a private network."),
    OutboundReason.INSECURE: Text(
        "The URL must begin with https://; http:// is for networks that the operator allows."
    ),
    # Does not reveal the address: that would let strangers read the internal DNS.
    OutboundReason.ADDRESS: Text("The URL leads to an address that is not public."),
    OutboundReason.METHOD: Text("The method is not open to outgoing requests."),
    OutboundReason.HEADERS: Text("A header is not well formed, or belongs to the connection."),
}


class OutboundRefused(Refusal):
    """The URL may not be called, for example because its address is private; no connection was made."""

    code = "outbound_refused"
    kind = RefusalKind.INVALID

    def __init__(self, reason: OutboundReason) -> None:
        super().__init__(SENTENCES[reason])
        self.reason = reason


class FailureKind(StrEnum):
    """The step at which an outgoing call failed."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    TOO_LARGE = "too_large"


class OutboundFailed(httpx2.TransportError):
    """The call was allowed and the other side gave no whole answer."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(str(message))
        self.kind = kind
        self.message = str(message)
        """In English, for programs and logs."""
        self.sentence = message
        """As it was raised: a `Text` can be shown in the reader's language."""


CLOSED = Text("The client is closed.")
UNRESOLVED = Text("%(host)s could not be resolved.")
NO_ADDRESS = Text("%(host)s has no address.")
NOT_CONNECTED = Text("Can't connect to %(host)s.")
SLOW_TO_CONNECT = Text("%(host)s took too long to connect.")
SLOW_TO_ANSWER = Text("%(host)s took too long to answer.")
NOT_SECURE = Text("No secure connection to %(host)s: %(why)s.")
MANY_HEADERS = Text("%(host)s sent too many headers.")
NOT_HTTP = Text("%(host)s did not send a valid HTTP response.")
BROKEN_OFF = Text("%(host)s closed the connection.")
PACKED = Text("%(host)s sent a compressed response, which was not requested.")
TOO_MUCH = Text("%(host)s sent more than %(count)s bytes.")
FAILURES = (
    CLOSED,
    UNRESOLVED,
    NO_ADDRESS,
    NOT_CONNECTED,
    SLOW_TO_CONNECT,
    SLOW_TO_ANSWER,
    NOT_SECURE,
    MANY_HEADERS,
    NOT_HTTP,
    BROKEN_OFF,
    PACKED,
    TOO_MUCH,
)
