"""The one implementation of the protocol: a message, or a batch, is answered for a server as its version asks."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from openslot import __version__
from openslot.domains.access.models import Entry
from openslot.doors.http.doors import JSON, Exchange
from openslot.doors.http.errors import headers_of, status_of, translate
from openslot.doors.mcp import jsonrpc
from openslot.doors.mcp.door import CODES, error_data
from openslot.doors.mcp.errors import RpcRefusal
from openslot.doors.mcp.jsonrpc import RpcFault, RpcMessage
from openslot.doors.mcp.tools import ToolResponse
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from openslot.platform.routing import Response

LARGEST_BATCH = 20
# What a caller may do can change at any moment, and another one has other tools.
NOT_CACHED = MappingProxyType({"ttlMs": 0, "cacheScope": "private"})
ACCEPTED = Response(status=202)

encode = msgspec.json.Encoder().encode
EntryT = TypeVar("EntryT", bound=Entry)


class RpcContext(NamedTuple, Generic[EntryT]):
    """The request or the line that brought a message, and who sent it."""

    runtime: Runtime
    entry: EntryT
    request_id: str
    headers: Mapping[str, str] | None
    """None if it came as a line of text."""
    address: str


class ToolParams(NamedTuple):
    """Which tool is called, and with what."""

    name: str
    given: Mapping[str, object]


async def _nothing(context: Any, message: object) -> None: ...


class TextResource(Struct, frozen=True, kw_only=True):
    """A text that a client can read; pages for a chat have addresses that begin with `ui://`."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[], str]
    meta: Mapping[str, object]

    def describe(self) -> dict[str, object]:
        shown = {"uri": self.uri, "name": self.name, "title": self.title, "description": self.description}
        return {**shown, "mimeType": self.mime_type, "_meta": self.meta}


class ToolServer(Struct, Generic[EntryT], frozen=True, kw_only=True):
    """One tool server: what it says of itself, and what its door does with messages."""

    name: str
    title: str
    instructions: str
    list_tools: Callable[[RpcContext[EntryT]], tuple[Raw, ...]]
    """Returns the described tools that the caller may use, in an order that does not change."""
    call_tool: Callable[[RpcContext[EntryT], RpcMessage], Awaitable[ToolResponse]]
    count_batched: Callable[[RpcContext[EntryT]], Awaitable[None]]
    """Counts one more message of a batch, or refuses it: each but the first is a request of its own."""
    begin: Callable[[RpcContext[EntryT], RpcMessage], Awaitable[None]] = _nothing
    """Called before each message is answered, and may refuse it."""
    introduced: Callable[[RpcContext[EntryT], object], Awaitable[None]] = _nothing
    """Gets what a client says of itself."""
    caching: Mapping[str, object] = NOT_CACHED
    """How long a client may keep what the server says of itself, its tools and its resources."""
    resources: tuple[TextResource, ...] = ()
    refused: Callable[[RpcContext[EntryT], Refusal], Mapping[str, str]] = lambda _context, _refusal: {}
    """Returns the headers that its door adds to a refusal."""

    @property
    def info(self) -> dict[str, str]:
        return {"name": self.name, "title": self.title, "version": __version__}

    @property
    def introduction(self) -> dict[str, object]:
        capabilities: dict[str, object] = {"tools": {}}
        if self.resources:
            capabilities["resources"] = {}
        return {"capabilities": capabilities, "instructions": self.instructions}

    @property
    def complete(self) -> dict[str, object]:
        """What every result has in the version without a handshake."""
        return {"resultType": "complete", "_meta": {jsonrpc.SERVER_INFO: self.info}}


async def serve(server: ToolServer[EntryT], entry: EntryT, request: Exchange) -> Response:
    """Answer the JSON-RPC messages of a request."""
    context = RpcContext(request.runtime, entry, request.request_id, request.headers, request.address)
    return await answer(server, context, request.body)


async def answer(server: ToolServer[EntryT], context: RpcContext[EntryT], body: bytes) -> Response:
    """Answer the JSON-RPC messages of a body."""
    try:
        value = jsonrpc.read_body(body)
        if isinstance(value, list):
            return await _answer_batch(server, context, value)
    except RpcFault as fault:
        return _to_error(server, context, None, fault)
    return await _answer_one(server, context, value) or ACCEPTED


async def _answer_batch(server: ToolServer[EntryT], context: RpcContext[EntryT], batch: list[object]) -> Response:
    """Answer each message of a batch; every one but the first counts as a request of its own."""
    headers = context.headers or {}
    if headers.get(jsonrpc.VERSION_HEADER, jsonrpc.WITH_BATCHES) != jsonrpc.WITH_BATCHES:
        jsonrpc.read_version(headers)
        raise RpcFault(jsonrpc.INVALID_REQUEST, "This version of the protocol has no batches: send one message")
    if not 1 <= len(batch) <= LARGEST_BATCH:
        raise RpcFault(jsonrpc.INVALID_REQUEST, f"A batch must have 1 to {LARGEST_BATCH} messages")
    answers = [await _answer_one(server, context, value, number=number) for number, value in enumerate(batch, 1)]
    written = [each.body for each in answers if each is not None and isinstance(each.body, bytes)]
    return Response(headers={"content-type": JSON}, body=b"[" + b",".join(written) + b"]") if written else ACCEPTED


async def _answer_one(
    server: ToolServer[EntryT], context: RpcContext[EntryT], value: object, *, number: int | None = None
) -> Response | None:
    """Answer one message; None if nobody waits for an answer."""
    message_id = jsonrpc.id_of(value)
    try:
        message = jsonrpc.read_message(value)
        if message is None:
            return None
        version = jsonrpc.find_version(message, context.headers)
        if message.id is None:
            return None
        if number is not None:
            await _check_batched(server, context, message, number)
        result = await _answer(server, context, message, is_stateless=version == jsonrpc.STATELESS)
        return Response(headers={"content-type": JSON}, body=jsonrpc.write_result(message_id, result))
    except Exception as fault:  # noqa: BLE001 - the edge of one message, whose id the answer must have
        return _to_error(server, context, message_id, fault)


async def _check_batched(
    server: ToolServer[EntryT], context: RpcContext[EntryT], message: RpcMessage, number: int
) -> None:
    if message.method == "initialize":
        raise RpcFault(jsonrpc.INVALID_REQUEST, "initialize must not be part of a batch")
    if number > 1:
        await server.count_batched(context)


async def _answer(
    server: ToolServer[EntryT], context: RpcContext[EntryT], message: RpcMessage, *, is_stateless: bool
) -> Raw:
    if message.method == "initialize" and is_stateless:
        raise _not_found(message.method, is_stateless=is_stateless)
    await server.begin(context, message)
    match message.method:
        case "tools/call":
            return _write_call(server, await server.call_tool(context, message), is_stateless=is_stateless)
        case "tools/list":
            if message.params.get("cursor") is not None:
                raise RpcFault(
                    jsonrpc.INVALID_PARAMS, "There is only one page of tools: leave out cursor", http_status=200
                )
            return _write_tools(server, server.list_tools(context), is_stateless=is_stateless)
        case "initialize":
            version = jsonrpc.choose_version(message.params.get("protocolVersion"))
            await server.introduced(context, message.params.get("clientInfo"))
            return Raw(encode({"protocolVersion": version, **server.introduction, "serverInfo": server.info}))
        case "ping" if not is_stateless:
            return Raw(b"{}")
        case "server/discover" if is_stateless:
            await server.introduced(context, message.meta.get(jsonrpc.CLIENT_INFO))
            shown = {**server.introduction, "supportedVersions": jsonrpc.SUPPORTED, **server.complete, **server.caching}
            return Raw(encode(shown))
    if server.resources and message.method.startswith("resources/"):
        return _write_resources(server, message, is_stateless=is_stateless)
    raise _not_found(message.method, is_stateless=is_stateless)


def _write_resources(server: ToolServer[EntryT], message: RpcMessage, *, is_stateless: bool) -> Raw:
    match message.method:
        case "resources/list":
            shown: dict[str, Any] = {"resources": [each.describe() for each in server.resources]}
        case "resources/templates/list":
            shown = {"resourceTemplates": []}
        case "resources/read":
            shown = {"contents": [_read_resource(server, message.params.get("uri"))]}
        case _:
            raise _not_found(message.method, is_stateless=is_stateless)
    return Raw(encode(shown | ({**server.complete, **server.caching} if is_stateless else {})))


def _read_resource(server: ToolServer[EntryT], uri: object) -> dict[str, object]:
    found = next((each for each in server.resources if each.uri == uri), None)
    if found is None:
        words = "There is no resource with this uri; resources/list names all of them"
        raise RpcFault(jsonrpc.RESOURCE_NOT_FOUND, words, data={"uri": str(uri)[:200]}, http_status=200)
    return {"uri": found.uri, "mimeType": found.mime_type, "text": found.read(), "_meta": found.meta}


def _write_tools(server: ToolServer[EntryT], tools: Sequence[Raw], *, is_stateless: bool) -> Raw:
    shown: dict[str, Any] = {"tools": tools}
    return Raw(encode(shown | ({**server.complete, **server.caching} if is_stateless else {})))


def _write_call(server: ToolServer[EntryT], answered: ToolResponse, *, is_stateless: bool) -> Raw:
    """Write a tool's result twice, as the protocol asks for: structured, and as a text for older clients."""
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": bytes(answered.content).decode()}],
        "structuredContent": answered.content,
        "isError": answered.is_error,
    }
    return Raw(encode(result | (server.complete if is_stateless else {})))


def _not_found(method: str, *, is_stateless: bool) -> RpcFault:
    words = f"There is no method named {method[:100]!r}"
    return RpcFault(jsonrpc.METHOD_NOT_FOUND, words, http_status=404 if is_stateless else 200)


def _to_error(
    server: ToolServer[EntryT], context: RpcContext[EntryT], message_id: str | int | None, fault: Exception
) -> Response:
    if isinstance(fault, RpcFault | RpcRefusal):
        status, headers = fault.http_status if isinstance(fault, RpcFault) else 200, {}
        body = jsonrpc.write_error(message_id, fault.rpc_code, fault.message, fault.data)
    else:
        refusal = translate(fault)
        status, headers = status_of(refusal), {**headers_of(refusal), **server.refused(context, refusal)}
        code = CODES.get(refusal.kind, jsonrpc.INVALID_REQUEST)
        body = jsonrpc.write_error(message_id, code, refusal.message, error_data(refusal))
    return Response(status=status, headers={"content-type": JSON, **headers}, body=body)


def unknown_tool(name: str, advice: str) -> RpcFault:
    words = f"There is no tool named {name[:100]!r}; {advice}"
    return RpcFault(jsonrpc.INVALID_PARAMS, words, data={"reason": "unknown_tool"}, http_status=200)


def read_params(params: Mapping[str, Any]) -> ToolParams:
    """Read which tool a call names and what it is given."""
    name, given = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise RpcFault(jsonrpc.INVALID_PARAMS, "params.name must be a string", http_status=200)
    if given is not None and not isinstance(given, dict):
        raise RpcFault(jsonrpc.INVALID_PARAMS, "params.arguments must be an object", http_status=200)
    return ToolParams(name, given or {})
