"""JSON-RPC 2.0: messages are read strictly and written once, in the version that their headers name."""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from openslot.doors.http.bodies import UNREADABLE, check_depth
from openslot.platform.core.errors import Invalid

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
UNAUTHORIZED = -32010
RATE_LIMITED = -32015
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

Id = str | int

encode = msgspec.json.Encoder().encode


class RpcMessage(Struct, frozen=True, kw_only=True):
    """A request; without an id it is a notification."""

    id: Id | None
    method: str
    params: dict[str, Any]

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the client says beside the parameters."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


class RpcFault(Exception):
    """A message that is not a valid call; `data` says more to programs."""

    def __init__(
        self, rpc_code: int, message: str, *, data: Mapping[str, object] | None = None, http_status: int = 400
    ) -> None:
        super().__init__(message)
        self.rpc_code = rpc_code
        self.message = message
        self.data = data
        self.http_status = http_status


def write_result(message_id: Id | None, result: Raw) -> bytes:
    return encode({"jsonrpc": "2.0", "id": message_id, "result": result})


def write_error(message_id: Id | None, code: int, message: str, data: Mapping[str, object] | None = None) -> bytes:
    error = {"code": code, "message": message, **({"data": data} if data else {})}
    return encode({"jsonrpc": "2.0", "id": message_id, "error": error})


def read_body(body: bytes) -> object:
    try:
        check_depth(body)
        return msgspec.json.decode(body)
    except (*UNREADABLE, Invalid):
        raise RpcFault(PARSE_ERROR, "The body is not valid JSON") from None


def read_message(value: object) -> RpcMessage | None:
    """Read one message; None if it is a response, which nobody waits for."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise _invalid('The body must be a JSON-RPC 2.0 message: an object with "jsonrpc": "2.0"')
    method = value.get("method")
    if method is None and ("result" in value or "error" in value):
        return None
    if not isinstance(method, str):
        raise _invalid("method must be a string")
    if "id" in value and not is_id(value["id"]):
        raise _invalid("id must be a string or an integer")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise RpcFault(INVALID_PARAMS, "params must be an object", http_status=200)
    return RpcMessage(id=value.get("id"), method=method, params=params)


def id_of(value: object) -> Id | None:
    """Return the id of a message that may be malformed."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if is_id(found) else None


def is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _invalid(words: str) -> RpcFault:
    return RpcFault(INVALID_REQUEST, words)


HANDSHAKE = ("2025-03-26", "2025-06-18", "2025-11-25")
WITH_BATCHES = "2025-03-26"
"""The version with batches, which is assumed for a client without a header."""
STATELESS = "2026-07-28"
"""Every message describes itself, without a handshake."""
SUPPORTED = (*HANDSHAKE, STATELESS)

VERSION_HEADER = "mcp-protocol-version"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
NAMED_BY = {"tools/call": "name", "resources/read": "uri"}
"""The parameter that the header Mcp-Name repeats, by method."""
ENCODED = re.compile(r"=\?base64\?([A-Za-z0-9+/]*={0,2})\?=")


def choose_version(wanted: object) -> str:
    """Answer the client's version if we speak it, or else our newest with a handshake."""
    return wanted if isinstance(wanted, str) and wanted in HANDSHAKE else HANDSHAKE[-1]


def read_version(headers: Mapping[str, str]) -> str:
    version = headers.get(VERSION_HEADER, WITH_BATCHES)
    if version not in SUPPORTED:
        raise _unsupported(version)
    return version


def find_version(message: RpcMessage, headers: Mapping[str, str] | None) -> str:
    """Return which version a message is in, or refuse one that contradicts itself; a line of text has no headers."""
    if VERSION not in message.meta and (headers is None or headers.get(VERSION_HEADER) != STATELESS):
        return read_version(headers or {})
    if message.id is not None:
        _check_meta(message, headers)
        if headers is not None:
            _check_headers(message, headers)
    return STATELESS


def _check_meta(message: RpcMessage, headers: Mapping[str, str] | None) -> None:
    meta: Mapping[str, Any] = message.meta
    missing = [key for key in (VERSION, CAPABILITIES) if key not in meta]
    if missing:
        raise RpcFault(INVALID_PARAMS, f"params._meta must have {' and '.join(missing)}")
    version = meta[VERSION]
    if headers is not None and headers.get(VERSION_HEADER) != version:
        raise _mismatch("MCP-Protocol-Version", f"_meta {VERSION!r}")
    if version != STATELESS:
        raise _unsupported(str(version))


def _check_headers(message: RpcMessage, headers: Mapping[str, str]) -> None:
    """Check what a message says about itself against its headers, by which others may have routed it."""
    if headers.get("mcp-method") != message.method:
        raise _mismatch("Mcp-Method", "method")
    named = NAMED_BY.get(message.method)
    name = message.params.get(named) if named else None
    if name is not None and _decode(headers.get("mcp-name")) != name:
        raise _mismatch("Mcp-Name", f"params.{named}")


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
