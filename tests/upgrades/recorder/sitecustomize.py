"""Python loads this at its start when the directory is on PYTHONPATH: every process of a run records its statements."""

import os
import sys
from collections.abc import Awaitable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import asyncpg
import msgspec

ROOT = Path(__file__).parents[3]
PACKAGE, TESTS = f"{ROOT / 'openslot'}{os.sep}", f"{ROOT / 'tests'}{os.sep}"
# It passes on what others say.
POOL = f"{PACKAGE}platform{os.sep}core{os.sep}db.py"

TO = os.environ.get("RECORD_STATEMENTS_TO")
connect = asyncpg.connect
noted: dict[str, int] = {}


class RecordingConnection(asyncpg.Connection):  # type: ignore[misc]  # the driver is not typed
    """Notes what the package says, and with which arguments it worked."""

    async def execute(self, query: str, *args: object, **options: Any) -> Any:
        """Note a statement that is executed."""
        return await _noting(super().execute(query, *args, **options), query, args)

    async def executemany(self, command: str, args: Any, **options: Any) -> Any:
        """Note a statement that is executed many times."""
        every = list(args)
        return await _noting(super().executemany(command, every, **options), command, *every[:1])

    async def fetch(self, query: str, *args: object, **options: Any) -> Any:
        """Note a statement that gives rows."""
        return await _noting(super().fetch(query, *args, **options), query, args)

    async def fetchrow(self, query: str, *args: object, **options: Any) -> Any:
        """Note a statement that gives a row."""
        return await _noting(super().fetchrow(query, *args, **options), query, args)

    async def fetchval(self, query: str, *args: object, **options: Any) -> Any:
        """Note a statement that gives a value."""
        return await _noting(super().fetchval(query, *args, **options), query, args)


async def _noting(running: Awaitable[Any], query: str, args: Sequence[object] = ()) -> Any:
    origin = _find_origin()
    if origin is None:
        return await running
    _note(origin, query, None)
    told = await running
    _note(origin, query, args)
    return told


def _find_origin() -> str | None:
    """Tell whose statement it is: a file of the package; None where a test speaks."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(TESTS) and name != __file__:
            return None
        if name.startswith(PACKAGE) and name != POOL:
            return str(Path(name).relative_to(ROOT))
        frame = frame.f_back
    return None


def _note(origin: str, query: str, args: Sequence[object] | None) -> None:
    """Write a statement down when it is new, or its arguments say more than those before."""
    richness = -1 if args is None else sum(1 for arg in args if arg is not None and arg not in ("", [], ()))
    if noted.get(query, -2) >= richness:
        return
    try:
        line = msgspec.json.encode(
            {"origin": origin, "sql": query, "arguments": args, "richness": richness}, enc_hook=_encode
        )
    except (TypeError, ValueError):
        return
    noted[query] = richness
    with Path(TO or "", f"{os.getpid()}.jsonl").open("ab") as file:
        file.write(line + b"\n")


def _encode(value: object) -> object:
    """Write a range; the driver has no other type of its own that we use."""
    if isinstance(value, asyncpg.Range):
        return {name: getattr(value, name) for name in ("lower", "upper", "lower_inc", "upper_inc", "isempty")}
    raise TypeError(type(value))


async def recording_connect(*args: Any, **options: Any) -> Any:
    """Connect as ever, and record."""
    return await connect(*args, **{"connection_class": RecordingConnection, **options})


if TO is not None:
    asyncpg.connect = recording_connect
