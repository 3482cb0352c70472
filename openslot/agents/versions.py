"""Versions of the protocol: which one a message is in, and whether its headers agree with it."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from openslot.agents.jsonrpc import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, RpcFault, RpcMessage

HANDSHAKE = ("2025-03-26", "2025-06-18", "2025-11-25")
LATEST_HANDSHAKE = HANDSHAKE[-1]
WITH_BATCHES = "2025-03-26"
"""Also what a client without a header speaks."""
STATELESS = "2026-07-28"
SUPPORTED = (*HANDSHAKE, STATELESS)

VERSION_HEADER = "mcp-protocol-version"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
ENCODED = re.compile(r"=\?base64\?([A-Za-z0-9+/]*={0,2})\?=")


class ProtocolVersion(Struct, frozen=True):
    """The version that a client speaks."""

    version: str

    @property
    def is_stateless(self) -> bool:
        """Whether every message describes itself, without a handshake."""
        return self.version == STATELESS


def choose_version(wanted: object) -> str:
    """Answer the client's version if we speak it, or else our newest with a handshake."""
    return wanted if isinstance(wanted, str) and wanted in HANDSHAKE else LATEST_HANDSHAKE


def read_version(headers: Mapping[str, str]) -> str:
    """Read the version that the header names."""
    version = headers.get(VERSION_HEADER, WITH_BATCHES)
    if version not in SUPPORTED:
        raise _unsupported(version)
    return version


def find_version(message: RpcMessage, headers: Mapping[str, str]) -> ProtocolVersion:
    """Return which version a message is in, or refuse one that contradicts itself."""
    if VERSION not in message.meta and headers.get(VERSION_HEADER) != STATELESS:
        return ProtocolVersion(read_version(headers))
    if message.id is not None:
        _check_envelope(message, headers)
    return ProtocolVersion(STATELESS)


def _check_envelope(message: RpcMessage, headers: Mapping[str, str]) -> None:
    """Check what a message says about itself against its headers, by which others may have routed it."""
    meta: Mapping[str, Any] = message.meta
    missing = [key for key in (VERSION, CAPABILITIES) if key not in meta]
    if missing:
        raise RpcFault(INVALID_PARAMS, f"params._meta must have {' and '.join(missing)}")
    version = meta[VERSION]
    if headers.get(VERSION_HEADER) is None or headers[VERSION_HEADER] != version:
        raise _mismatch("MCP-Protocol-Version", f"_meta {VERSION!r}")
    if version != STATELESS:
        raise _unsupported(version)
    if headers.get("mcp-method") != message.method:
        raise _mismatch("Mcp-Method", "method")
    name = message.params.get("name")
    if message.method == "tools/call" and name is not None and _decode(headers.get("mcp-name")) != name:
        raise _mismatch("Mcp-Name", "params.name")


def _decode(value: str | None) -> str | None:
    """Decode a header's value that may be wrapped in base64; None if it is malformed."""
    wrapped = ENCODED.fullmatch(value) if value is not None else None
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _mismatch(header: str, field: str) -> RpcFault:
    return RpcFault(HEADER_MISMATCH, f"The header {header} must be the same as {field}", data={"header": header})


def _unsupported(version: str) -> RpcFault:
    return RpcFault(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        data={"supported": list(SUPPORTED), "requested": version[:100]},
    )
