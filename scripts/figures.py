#!/usr/bin/env python3
"""Print how large the package is and how many of its files a request enters: `.venv/bin/python scripts/figures.py`.

With --check, only compare the figures of its layout with their bounds, and fail if one is passed.
"""

import ast
import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "openslot"
sys.path.insert(0, str(ROOT))

Graph = dict[str, set[str]]


def main() -> None:
    """Print the figures of the source, then those of the traced requests."""
    if "--check" in sys.argv:
        raise SystemExit(check())
    sources = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = {path: text.count("\n") for path, text in sources.items()}
    graph = import_graph(trees)
    importers: Graph = defaultdict(set)
    for module, imported in graph.items():
        for name in imported:
            importers[name].add(module)
    print_row("lines", sum(lines.values()))
    print_row("statements", sum(count_statements(tree) for tree in trees.values()))
    print_row("files", len(lines))
    print_row("files under 40 lines", sum(count < 40 for count in lines.values()))
    print_row("files over 400 lines", sum(count > 400 for count in lines.values()))
    print_row("modules with one importer", sum(len(importers[name]) == 1 for name in graph))
    print_row("circles of imports", len(found := circles(graph)))
    for circle in found:
        print(f"    {', '.join(sorted(circle))}")
    for name, files in asyncio.run(trace_stories()).items():
        print_row(f"files entered: {name}", len(files))
        if "--list" in sys.argv:
            print("".join(f"    {file}\n" for file in sorted(files)), end="")


def check() -> int:
    """Print the figures that have a bound, and return how many have passed it."""
    from scripts.structure import BOUNDS

    measured = [(bound, bound.measure()) for bound in BOUNDS]
    for bound, figure in measured:
        print(f"{bound.name:<56}{figure:>8,}   at most {bound.at_most:,}")
    return sum(figure > bound.at_most for bound, figure in measured)


def print_row(name: str, figure: int) -> None:
    """Print one figure."""
    print(f"{name:<56}{figure:>8,}", flush=True)


def count_statements(tree: ast.Module) -> int:
    """Count the statements of a module without its docstrings."""
    return sum(isinstance(node, ast.stmt) and not is_docstring(node) for node in ast.walk(tree))


def is_docstring(node: ast.stmt) -> bool:
    """Tell whether a statement is only a string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def import_graph(trees: dict[Path, ast.Module]) -> Graph:
    """Tell which modules of the package each module imports, those for types alone included."""
    names = {module_name(path): path for path in trees}
    return {name: set(imports_of(name, trees[path], names)) - {name} for name, path in names.items()}


def module_name(path: Path) -> str:
    """Name the module of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(module: str, tree: ast.Module, names: dict[str, Path]) -> Iterator[str]:
    """List what a module imports from the package; `from package import module` means the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in names:
                    yield inner
                elif node.module in names:
                    yield node.module


def circles(graph: Graph) -> list[set[str]]:
    """Find the groups of modules that import each other (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in graph[name]:
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            position = stack.index(name)
            group = set(stack[position:])
            del stack[position:]
            if len(group) > 1:
                found.append(group)

    sys.setrecursionlimit(10_000)
    for name in graph:
        if name not in order:
            visit(name)
    return found


@contextmanager
def entered() -> Iterator[set[str]]:
    """Collect the files of the package whose functions are called meanwhile."""
    files: set[str] = set()
    prefix = f"{PACKAGE}/"

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(prefix):
            files.add(code.co_filename.removeprefix(f"{ROOT}/"))

    sys.setprofile(look)
    try:
        yield files
    finally:
        sys.setprofile(None)


async def trace_stories() -> dict[str, set[str]]:
    """Run a service with demo data in this process, and trace what each request enters the second time."""
    from benchmarks.stage import stage
    from openslot.app import create_app
    from openslot.demo.seed import seed
    from openslot.platform.core.actor import OPERATOR
    from openslot.platform.core.environment import load_settings
    from openslot.platform.core.log import set_up_logging
    from openslot.platform.core.migrate import fill_empty
    from openslot.runtime import open_runtime
    from tests.support.live import connect, serving

    with stage() as here:
        settings = load_settings(
            {"database_url": here.url, "data_dir": here.data_dir, "log_level": "error"}, environ={}
        )
        set_up_logging(settings)
        await fill_empty(here.url)
        async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
            keys = await seed(work)
        async with serving(create_app(settings)) as url, connect(url) as client:
            peer = Peer(client, keys)
            await peer.prepare()
            return {name: await trace(story) for name, story in stories(peer).items()}


async def trace(story: Callable[[], Any]) -> set[str]:
    """Run a story once to warm up and once traced."""
    await story()
    with entered() as files:
        await story()
    return files


def stories(peer: "Peer") -> dict[str, Callable[[], Any]]:
    """List the traced requests; what one of them makes, a later one uses."""
    return {
        "POST /api/v1/bookings": peer.book,
        "the booking page": lambda: peer.ask("GET", "/mara/intro-call"),
        "an agent's cancel_booking": peer.cancel,
        "a SCIM suspension": peer.suspend,
    }


class Peer:
    """Sends what the stories tell."""

    def __init__(self, client: Any, keys: Any) -> None:
        self.client = client
        self.keys = keys
        self.starts: list[str] = []
        self.bookings: list[str] = []
        self.members: list[str] = []

    async def ask(self, method: str, path: str, key: str = "", **options: Any) -> Any:
        """Send a request, and end if it is refused."""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        answer = await self.client.request(method, path, headers=headers, **options)
        if answer.status_code >= 400 or '"error":' in answer.text:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer

    async def prepare(self) -> None:
        """Find times to book and members to suspend."""
        until = (datetime.now(UTC) + timedelta(days=20)).date()
        path = f"/api/v1/availability/intro-call?timezone=UTC&endDate={until}"
        slots = (await self.ask("GET", path, self.keys.api_key)).json()["data"]
        # Every eighth: neighbours overlap, with their buffers too.
        self.starts = [slot["startTime"] for slot in slots[::8]]
        users = (await self.ask("GET", "/api/scim/v2/Users", self.keys.scim_token)).json()["Resources"]
        self.members = [user["id"] for user in users if user["active"]]

    async def book(self) -> None:
        """Book the next free time."""
        body = {"eventTypeSlug": "intro-call", "startTime": self.starts.pop(), "inviteeTimezone": "Africa/Lagos"}
        invitee = {"inviteeName": "Jonas Okafor", "inviteeEmail": "jonas@okafor.example"}
        answer = await self.ask("POST", "/api/v1/bookings", self.keys.api_key, json={**body, **invitee})
        self.bookings.append(answer.json()["bookingId"])

    async def cancel(self) -> None:
        """Let the Orchestrator cancel a booking."""
        params = {"name": "cancel_booking", "arguments": {"bookingId": self.bookings.pop(), "confirm": True}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        await self.ask("POST", "/api/admin/agent-mcp", self.keys.agent_keys["orchestrator"], json=call)

    async def suspend(self) -> None:
        """Suspend a member as an identity provider does."""
        change = {"op": "replace", "path": "active", "value": False}
        body = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [change]}
        await self.ask("PATCH", f"/api/scim/v2/Users/{self.members.pop(0)}", self.keys.scim_token, json=body)


if __name__ == "__main__":
    main()
