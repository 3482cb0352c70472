"""JSON-RPC 2.0: messages are read strictly and written once."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from openslot.core.errors import Invalid
from openslot.http.bodies import UNREADABLE, check_depth

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNAUTHORIZED = -32010
RATE_LIMITED = -32015
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

Id = str | int
Params = dict[str, Any]

encode = msgspec.json.Encoder().encode


class RpcMessage(Struct, frozen=True, kw_only=True):
    """A request; without an id it is a notification."""

    id: Id | None
    method: str
    params: Params

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


class _Error(Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: int
    message: str
    data: Mapping[str, object] | UnsetType = UNSET


class _RpcResponse(Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: Id | None
    result: Raw | UnsetType = UNSET
    error: _Error | UnsetType = UNSET


def write_result(message_id: Id | None, result: Raw) -> bytes:
    """Write the answer with a result."""
    return encode(_RpcResponse(id=message_id, result=result))


def write_error(message_id: Id | None, code: int, message: str, data: Mapping[str, object] | None = None) -> bytes:
    """Write the answer with an error."""
    return encode(_RpcResponse(id=message_id, error=_Error(code=code, message=message, data=data or UNSET)))


def read_body(body: bytes) -> object:
    """Decode a body, or raise a fault that says that it is not JSON."""
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
    """Return whether a value can be the id of a request."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _invalid(words: str) -> RpcFault:
    return RpcFault(INVALID_REQUEST, words)
