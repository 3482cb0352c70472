"""mcp: the tool server of a user's assistant over standard input and output, for programs on the same machine."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import redirect_stdout
from threading import Thread

import typer
from msgspec.structs import replace

from openslot.domains.access.door import take_place
from openslot.domains.access.models import AssistantEntry, CredentialKind
from openslot.doors.assistants.door import STDIO, enter_with_key
from openslot.doors.assistants.server import SERVER
from openslot.doors.http.errors import RequestTooLarge, translate
from openslot.doors.mcp.door import MAX_BYTES, write_refusal
from openslot.doors.mcp.jsonrpc import RpcFault, id_of, read_body
from openslot.doors.mcp.protocol import RpcContext, answer
from openslot.platform.core.errors import Refusal, StartupError, Unauthorized
from openslot.platform.core.ids import new_id_text
from openslot.platform.core.work import Runtime
from openslot.processes.exits import leave_on_signals
from openslot.processes.runtimes import with_runtime

app = typer.Typer(add_completion=False)

INPUT, OUTPUT = 0, 1
TOO_LONG = f"A message must not be longer than {MAX_BYTES // 1024} KiB"
NO_KEY = "Set OPENSLOT_API_KEY to an API key of the user for whom the assistant acts (`openslot key create`)."
REFUSED = (
    "OPENSLOT_API_KEY is not accepted: the key is wrong, revoked or expired, its user is disabled, or the user's plan"
    " does not include API keys (Pro and Business do)."
)


@app.command("mcp")
def serve_mcp() -> None:
    """Run the tool server of a user's assistant over standard input and output, with the API key in OPENSLOT_API_KEY.

    A program such as Claude Desktop starts it on this machine. Each line is one JSON-RPC message.
    """
    leave_on_signals(0)
    with redirect_stdout(sys.stderr):
        with_runtime(_serve)


async def _serve(runtime: Runtime) -> None:
    """Answer one message after the other until the input ends, or nobody reads the answers."""
    key = runtime.settings.api_key
    if not key:
        raise StartupError(NO_KEY)
    try:
        await enter_with_key(runtime, key)
    except Unauthorized:
        raise StartupError(REFUSED) from None
    async for line in _read_lines():
        body = await _answer(runtime, key, line)
        try:
            _write(body + b"\n" if body else b"")
        except BrokenPipeError:
            return


async def _answer(runtime: Runtime, key: str, line: bytes | None) -> bytes:
    """Answer a line as its own request: the key is looked at and counted each time."""
    if line is None:
        return write_refusal(RequestTooLarge(TOO_LONG))
    try:
        entry = await enter_with_key(runtime, key)
    except Exception as fault:  # noqa: BLE001 - the edge of one message
        return _refuse(line, translate(fault))
    context = RpcContext(runtime, entry, new_id_text(), None, STDIO)
    written = (await answer(SERVER_OF_KEY, context, line)).body
    return written if isinstance(written, bytes) else b""


def _refuse(line: bytes, refusal: Refusal) -> bytes:
    """Refuse a message by its id; a notification has none and gets no answer."""
    try:
        message_id = id_of(read_body(line))
    except RpcFault:
        message_id = None
    return b"" if message_id is None else write_refusal(refusal, message_id)


async def _count_batched(context: RpcContext[AssistantEntry]) -> None:
    verdict = await take_place(context.runtime, CredentialKind.API_KEY, context.entry.grant_id)
    verdict.check()


SERVER_OF_KEY = replace(SERVER, count_batched=_count_batched)


async def _read_lines() -> AsyncIterator[bytes | None]:
    """Yield each line of the input, and None for one that is too long."""
    reader, is_cut = asyncio.StreamReader(limit=MAX_BYTES), False
    # A thread reads whatever the input is: pipes, files and terminals. It ends with the process.
    Thread(target=_feed, args=(asyncio.get_running_loop(), reader), daemon=True).start()
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as fault:
            await reader.readexactly(fault.consumed)
            is_cut = True
            continue
        except asyncio.IncompleteReadError as fault:
            if not fault.partial:
                return
            line = fault.partial
        if is_cut or line.strip():
            yield None if is_cut else line
        is_cut = False


def _write(line: bytes) -> None:
    while line:
        line = line[os.write(OUTPUT, line) :]


def _feed(loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader) -> None:
    while piece := os.read(INPUT, MAX_BYTES):
        loop.call_soon_threadsafe(reader.feed_data, piece)
    loop.call_soon_threadsafe(reader.feed_eof)
