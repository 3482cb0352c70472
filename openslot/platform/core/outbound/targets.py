"""Where a URL leads, whether it may be called, and how a call can fail."""

import re
from collections.abc import Iterable
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network

import httpx2
from msgspec import Struct

from openslot.platform.core.config import Network
from openslot.platform.core.errors import Refusal, RefusalKind
from openslot.platform.i18n import CodedReason


class OutboundReason(StrEnum):
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
    OutboundReason.TOO_LONG: CodedReason("outbound.refused.too_long", "The URL is longer than 2048 characters."),
    OutboundReason.CHARACTERS: CodedReason(
        "outbound.refused.characters", "The URL may contain printable ASCII only, without spaces or backslashes."
    ),
    OutboundReason.SCHEME: CodedReason("outbound.refused.scheme", "The URL must begin with https://."),
    OutboundReason.USERINFO: CodedReason(
        "outbound.refused.userinfo", "The URL must not contain a user name or password."
    ),
    OutboundReason.HOST: CodedReason(
        "outbound.refused.host", "The URL's host is not a full domain name or an IP address."
    ),
    OutboundReason.PORT: CodedReason("outbound.refused.port", "The URL's port is not open to outgoing requests."),
    OutboundReason.NUMBER: CodedReason(
        "outbound.refused.number", "The URL's IPv4 address must be four decimal numbers, such as 192.0.2.1."
    ),
    OutboundReason.NAME: CodedReason("outbound.refused.name", "The URL's host is a name of a private network."),
    OutboundReason.INSECURE: CodedReason(
        "outbound.refused.insecure",
        "The URL must begin with https://; http:// is for networks that the operator allows.",
    ),
    # Does not reveal the address: that would let strangers read the internal DNS.
    OutboundReason.ADDRESS: CodedReason("outbound.refused.address", "The URL leads to an address that is not public."),
    OutboundReason.METHOD: CodedReason("outbound.refused.method", "The method is not open to outgoing requests."),
    OutboundReason.HEADERS: CodedReason(
        "outbound.refused.headers", "A header is not well formed, or belongs to the connection."
    ),
}


class OutboundRefused(Refusal):
    """The URL may not be called, for example because its address is private; no connection was made."""

    code = "url_not_allowed"
    kind = RefusalKind.INVALID

    def __init__(self, reason: OutboundReason) -> None:
        super().__init__(SENTENCES[reason])
        self.reason = reason


class FailureKind(StrEnum):
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
        """The message in English, for programs and logs."""
        self.sentence = message
        """The message as it was raised: a `Text` can be shown in the reader's language."""

    @property
    def may_have_arrived(self) -> bool:
        """Whether the request may have been carried out: False if no connection was made."""
        return self.kind not in {FailureKind.DNS, FailureKind.CONNECT, FailureKind.TLS}


CLOSED = CodedReason("outbound.closed", "The client is closed.")
UNRESOLVED = CodedReason("outbound.unresolved", "%(host)s could not be resolved.")
NO_ADDRESS = CodedReason("outbound.no_address", "%(host)s has no address.")
NOT_CONNECTED = CodedReason("outbound.not_connected", "Can't connect to %(host)s.")
SLOW_TO_CONNECT = CodedReason("outbound.slow_to_connect", "%(host)s took too long to connect.")
SLOW_TO_ANSWER = CodedReason("outbound.slow_to_answer", "%(host)s took too long to answer.")
NOT_SECURE = CodedReason("outbound.not_secure", "No secure connection to %(host)s: %(why)s.")
MANY_HEADERS = CodedReason("outbound.many_headers", "%(host)s sent too many headers.")
NOT_HTTP = CodedReason("outbound.not_http", "%(host)s did not send a valid HTTP response.")
BROKEN_OFF = CodedReason("outbound.broken_off", "%(host)s closed the connection.")
PACKED = CodedReason("outbound.packed", "%(host)s sent a compressed response, which was not requested.")
TOO_MUCH = CodedReason("outbound.too_much", "%(host)s sent more than %(count)s bytes.")


Address = IPv4Address | IPv6Address

# Our own tables, because the results of `is_global` differ between Python patch releases.
NOT_PUBLIC_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and one cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's host agent, in public space
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, and one cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

# Everything outside of it is refused: loopback, mapped and compatible IPv4, ULA, link-local, site-local, multicast.
GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")

NOT_PUBLIC_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3ffe::/16",  # returned test network
        "3fff::/20",  # documentation
    )
)

# NAT64, the only way from an IPv6-only host to IPv4: the embedded address is checked.
NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not is_inside(address, NOT_PUBLIC_V4)
    if address in NAT64:
        return is_public(embedded_address(address))
    return address in GLOBAL_UNICAST_V6 and not is_inside(address, NOT_PUBLIC_V6)


def embedded_address(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def is_inside(address: Address, networks: Iterable[Network]) -> bool:
    """Return whether one of the networks contains the address as it is written, without unwrapping it."""
    return any(address in network for network in networks)


LONGEST_URL = 2048
LONGEST_NAME = 253
DEFAULT_PORTS = {"http": 80, "https": 443}

# Below 1024 only the web's own two ports; above, all except those of services that would act on a request's content.
# fmt: off
CLOSED_PORTS = frozenset({
    1433, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061,
    5432, 5672, 5900, 5984, 6000, 6379, 6432, 6566, *range(6665, 6670), 6679, 6697, 9042, 9092, 9200, 9300,
    10080, 10250, 11211, 27017,
})
# fmt: on

PRIVATE_SUFFIXES = (
    "localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa",
)  # fmt: skip

CHARACTERS = re.compile(r"[\x21-\x5b\x5d-\x7e]*")
AFTER_SCHEME = re.compile(r"//(?P<authority>[^/?#]*)(?P<path>[^#]*)(?:#.*)?")
AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::(?P<port>[^:]*))?", re.IGNORECASE)
LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
PORT = re.compile(r"[0-9]{1,5}")


class OutboundTarget(Struct, frozen=True):
    """Where a URL leads, before any look-up."""

    scheme: str
    host: str
    port: int
    path: str
    address: Address | None
    only_allowed: OutboundReason | None
    """Set if only an address that the operator allows is acceptable."""

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(url: str, *, allow: Iterable[Network] = ()) -> None:
    """Refuse a URL that would not be allowed whatever its name resolves to."""
    get_target(url, allow=tuple(allow))


def get_target(url: str, *, allow: tuple[Network, ...], at_most: int = LONGEST_URL) -> OutboundTarget:
    if len(url) > at_most:
        raise OutboundRefused(OutboundReason.TOO_LONG)
    target = _read(url)
    if target.address is not None:
        check_addresses(target, (target.address,), allow=allow)
    if target.only_allowed is not None and not allow:
        raise OutboundRefused(target.only_allowed)
    return target


def check_addresses(target: OutboundTarget, addresses: Iterable[Address], *, allow: tuple[Network, ...]) -> None:
    """Refuse the target unless every address is public or allowed."""
    for address in addresses:
        if is_inside(address, allow):
            continue
        if not is_public(address):
            raise OutboundRefused(OutboundReason.ADDRESS)
        if target.only_allowed is not None:
            raise OutboundRefused(target.only_allowed)


def is_private_name(host: str) -> bool:
    return "." not in host or f".{host}".endswith(tuple(f".{end}" for end in PRIVATE_SUFFIXES))


def _read(url: str) -> OutboundTarget:
    if not CHARACTERS.fullmatch(url):
        raise OutboundRefused(OutboundReason.CHARACTERS)
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise OutboundRefused(OutboundReason.SCHEME)
    parts = AFTER_SCHEME.fullmatch(rest)
    if parts is None:
        raise OutboundRefused(OutboundReason.HOST)
    host, address, port = _read_authority(parts["authority"], default_port=DEFAULT_PORTS[scheme])
    path = parts["path"] if parts["path"].startswith("/") else f"/{parts['path']}"
    return OutboundTarget(scheme, host, port, path, address, _find_need(scheme, host, port, address))


def _read_authority(authority: str, *, default_port: int) -> tuple[str, Address | None, int]:
    if "@" in authority:
        raise OutboundRefused(OutboundReason.USERINFO)
    found = AUTHORITY.fullmatch(authority)
    if found is None:
        raise OutboundRefused(OutboundReason.HOST)
    port = _read_port(found["port"], default_port=default_port)
    if found["v6"] is not None:
        address = _read_v6(found["v6"])
        return str(address), address, port
    name = found["name"].lower()
    return name, _find_v4(name), port


def _read_port(text: str | None, *, default_port: int) -> int:
    if text is None:
        return default_port
    if not PORT.fullmatch(text) or not 1 <= int(text) <= 65535:
        raise OutboundRefused(OutboundReason.PORT)
    return int(text)


def _read_v6(text: str) -> IPv6Address:
    try:
        return IPv6Address(text)
    except AddressValueError:
        raise OutboundRefused(OutboundReason.HOST) from None


def _find_v4(name: str) -> IPv4Address | None:
    labels = name.split(".")
    # Resolvers differ in how they read octal, hex, short and whole-number addresses, so only one notation is allowed.
    if NUMBER.fullmatch(labels[-1]):
        try:
            return IPv4Address(name)
        except AddressValueError:
            raise OutboundRefused(OutboundReason.NUMBER) from None
    if len(name) > LONGEST_NAME or not all(LABEL.fullmatch(label) for label in labels) or not _is_readable(name):
        raise OutboundRefused(OutboundReason.HOST)
    return None


def _is_readable(name: str) -> bool:
    # httpx2 decodes international names wherever they appear, and raises an error for invalid ones.
    try:
        return "xn--" not in name or bool(httpx2.URL(scheme="https", host=name).host)
    except UnicodeError:
        return False


def _find_need(scheme: str, host: str, port: int, address: Address | None) -> OutboundReason | None:
    if address is None and is_private_name(host):
        return OutboundReason.NAME
    if scheme == "http":
        return OutboundReason.INSECURE
    if port in CLOSED_PORTS or (port < 1024 and port not in DEFAULT_PORTS.values()):
        return OutboundReason.PORT
    return None
