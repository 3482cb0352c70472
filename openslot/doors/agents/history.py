"""How the source code came to be: from git where there is a repository, and from the release notes elsewhere."""

import asyncio
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from openslot.doors.agents.codebase import Codebase, find_body, read_path
from openslot.doors.agents.git import ANSWERS_WITHIN, ENVIRONMENT, OPTIONS

LARGEST_OUTPUT = 1_000_000
LONGEST_SUMMARY = 4_000
NOTES = "CHANGELOG.md"
RELEASE = re.compile(r"^## (?P<name>[^\s]+)(?: - (?P<on>\d{4}-\d{2}-\d{2}))?\s*$", re.MULTILINE)
FIELD, END = "\x1f", "\x1e"

HistorySource = Literal["git", "release_notes", "none"]


class CodeChange(Struct, frozen=True, kw_only=True):
    id: str
    """The commit, or the version."""
    at: datetime | None
    author: str | None
    summary: str


class History(Struct, frozen=True, kw_only=True):
    source: HistorySource
    entries: list[CodeChange]
    has_more: bool


async def read_history(codebase: Codebase, path: str, *, limit: int) -> History:
    """Read the newest changes of a path, which need not exist any more; release notes are about the whole product."""
    names = read_path(path)
    entries = await _ask_git(codebase.root, "/".join(names), limit=limit + 1)
    source: HistorySource = "git"
    if entries is None:
        entries, source = await asyncio.to_thread(_read_notes, codebase), "release_notes"
    if not entries and source == "release_notes":
        source = "none"
    return History(source=source, entries=entries[:limit], has_more=len(entries) > limit)


async def _ask_git(root: Path, path: str, *, limit: int) -> list[CodeChange] | None:
    """Ask git for the commits that changed a path; None if there is no repository, or git does not answer in time."""
    program = shutil.which("git")
    if program is None or not await asyncio.to_thread(os.path.lexists, root / ".git"):
        return None
    wanted = f"--format=%H{FIELD}%aI{FIELD}%an{FIELD}%s{END}"
    command = ("log", f"--max-count={limit}", "--no-show-signature", "--no-mailmap", "--no-color", wanted)
    process = await asyncio.create_subprocess_exec(
        *(program, *OPTIONS, "-C", str(root), *command, "--", path or "."),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(root),
    )
    try:
        output = await asyncio.wait_for(_read_output(process), ANSWERS_WITHIN)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return None if output is None else [_read_commit(each) for each in output.split(END) if each.strip()]


def _environment(root: Path) -> dict[str, str]:
    # A repository of another directory above is not this one's history.
    return {**ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(root.resolve().parent)}


async def _read_output(process: asyncio.subprocess.Process) -> str | None:
    pieces: list[bytes] = []
    while process.stdout is not None and (piece := await process.stdout.read(65_536)):
        pieces.append(piece)
        if sum(map(len, pieces)) > LARGEST_OUTPUT:
            return None
    return b"".join(pieces).decode("utf-8", "replace") if await process.wait() == 0 else None


def _read_commit(text: str) -> CodeChange:
    commit, at, author, summary = text.strip("\n").split(FIELD, 3)
    return CodeChange(
        id=commit, at=datetime.fromisoformat(at).astimezone(UTC), author=author, summary=summary[:LONGEST_SUMMARY]
    )


def _read_notes(codebase: Codebase) -> list[CodeChange]:
    """Read one entry for each release, newest first; an installed package has its notes inside."""
    body = find_body(codebase, (NOTES,))
    return _split_notes(body.decode("utf-8", "replace")) if body is not None else []


def _split_notes(text: str) -> list[CodeChange]:
    found = list(RELEASE.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    return [
        CodeChange(
            id=each["name"],
            at=datetime.fromisoformat(each["on"]).replace(tzinfo=UTC) if each["on"] else None,
            author=None,
            summary=text[each.end() : end].strip()[:LONGEST_SUMMARY],
        )
        for each, end in zip(found, ends, strict=True)
    ]
