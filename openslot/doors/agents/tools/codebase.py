"""Tools: the source code of this installation."""

import asyncio
from typing import Annotated, Literal

from msgspec import Meta, Struct

from openslot.doors.agents import codebase
from openslot.doors.agents.codebase import Codebase, FileLines, FileMatch, find_codebase
from openslot.doors.agents.history import CodeChange, HistorySource, read_history
from openslot.doors.agents.registry import tool
from openslot.doors.mcp.tools import naming
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import LINE
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Runtime, Work

FilePath = Annotated[
    str, Meta(pattern=LINE, max_length=500, description="Relative to the root", examples=["openslot/app.py"])
]
LineNumber = Annotated[int, Meta(ge=1, le=1_000_000)]


class ShownMatch(Struct, frozen=True, kw_only=True):
    """A line, or a path, in which the query was found."""

    path: str
    line: Annotated[int | None, Meta(description="Null if the query was found in the path")]
    text: Annotated[str, Meta(description="The line, at most 300 characters")]


class FoundFiles(Struct, frozen=True, kw_only=True, rename="camel"):
    """Matches by path and line."""

    data: list[ShownMatch]
    files_searched: int
    is_complete: Annotated[bool, Meta(description="Whether these are all; if not, narrow it down by path or query")]


class ShownFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """Some lines of a file."""

    path: str
    start_line: int
    end_line: int
    total_lines: int
    text: str
    is_cut: Annotated[bool, Meta(description="Whether there is more than is shown: go on at endLine + 1")]


class ShownEntry(Struct, frozen=True, kw_only=True):
    """A file or a directory."""

    name: str
    path: str
    type: Literal["file", "directory"]
    size: Annotated[int, Meta(description="Bytes; 0 for directories")]


class DirectoryList(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is in a directory, by name."""

    path: str
    data: list[ShownEntry]
    is_complete: Annotated[bool, Meta(description="Whether these are all")]


class ShownChange(Struct, frozen=True, kw_only=True):
    """A commit or a release."""

    id: Annotated[str, Meta(description="The commit, or the version")]
    at: Instant | None
    author: str | None
    summary: str


class ChangeList(Struct, frozen=True, kw_only=True, rename="camel"):
    """Changes, newest first."""

    source: Annotated[
        HistorySource,
        Meta(description="Where it comes from: commits of git, release notes of the whole product, or nowhere"),
    ]
    data: list[ShownChange]
    has_more: bool


class _OneAtATime:
    """Searches of one process wait for each other, so that agents do not slow the service down."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()


_show_match = Shape(ShownMatch, FileMatch).show
_show_file = Shape(ShownFile, FileLines).show
_show_change = Shape(ShownChange, CodeChange).show


@tool(scope="codebase:read")
async def search_files(
    work: Work,
    *,
    query: Annotated[str, Meta(pattern=LINE, min_length=1, max_length=200, description="A text, in any letter case")],
    path: Annotated[FilePath, Meta(description="Search only in this directory or file")] = "",
    limit: Annotated[int, Meta(ge=1, le=100)] = 50,
) -> FoundFiles:
    """Search the source code of this installation for a text, in paths and lines.

    Use it to find where something is done, configured or documented, then read_file. Only source code and documents
    that git tracks or the package lists are searched: no data, settings, keys or links. It ends after 2 seconds at
    most; `isComplete` says whether everything was searched. It costs nothing and changes nothing.
    """
    with naming("path"):
        async with work.runtime.one(_OneAtATime).lock:
            found = await asyncio.to_thread(codebase.search_files, await _find(work.runtime), query, path, limit=limit)
    return FoundFiles(
        data=[_show_match(each) for each in found.matches],
        files_searched=found.files_searched,
        is_complete=found.is_complete,
    )


@tool(scope="codebase:read")
async def read_file(
    work: Work, *, path: FilePath, start_line: LineNumber = 1, end_line: LineNumber | None = None
) -> ShownFile:
    """Read a text file of the source code, or some of its lines.

    At most 2,000 lines or 100,000 characters at a time; `isCut` says whether there is more. It costs nothing and
    changes nothing.
    """
    with naming("path"):
        return _show_file(
            await asyncio.to_thread(
                codebase.read_file, await _find(work.runtime), path, start_line=start_line, end_line=end_line
            )
        )


@tool(scope="codebase:read")
async def list_directory(work: Work, *, path: FilePath = "") -> DirectoryList:
    """List the files and directories in a directory of the source code; without a path, in its root.

    Data, settings, keys, links and files that are not text are left out. It costs nothing and changes nothing.
    """
    with naming("path"):
        found, is_complete = await asyncio.to_thread(codebase.list_directory, await _find(work.runtime), path)
    shown = [
        ShownEntry(name=each.name, path=each.path, type="directory" if each.is_directory else "file", size=each.size)
        for each in found
    ]
    return DirectoryList(path=path, data=shown, is_complete=is_complete)


@tool(scope="codebase:read")
async def get_history(
    work: Work,
    *,
    path: Annotated[FilePath, Meta(description="Only changes of this file or directory; it may be deleted")] = "",
    limit: Annotated[int, Meta(ge=1, le=100)] = 20,
) -> ChangeList:
    """Get the newest changes of the source code: commits where there is a git repository, else the release notes.

    Use it to find out what changed before something stopped working. Release notes are about the whole product, also
    if you name a path. It costs nothing and changes nothing.
    """
    with naming("path"):
        found = await read_history(await _find(work.runtime), path, limit=limit)
    return ChangeList(source=found.source, data=[_show_change(each) for each in found.entries], has_more=found.has_more)


async def _find(runtime: Runtime) -> Codebase:
    return await asyncio.to_thread(find_codebase, runtime.settings)
