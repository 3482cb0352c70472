"""Record a release: run the tests, and keep its statements and the facts that it writes; see CONTRIBUTING.md."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asyncpg
import msgspec
import pytest
from packaging.version import Version

from openslot import __version__
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.migrate import migrate
from openslot.wiring import WIRING
from tests.upgrades import facts, statements
from tests.upgrades.facts import GoldenFact, choose_facts, load_facts
from tests.upgrades.statements import DATA, RELEASE, Release, Statement, describe, find_fault

HERE = Path(__file__).parent
# Facts written on the way to a release are that release's.
VERSION = Version(__version__).base_version
PLUGIN = ("-p", "tests.upgrades.fact_recorder")
# The driver's own question for types that it does not know, and a backup's count of whatever tables there are.
NOT_OURS = re.compile(r"\btypeinfo\b|^select count\(\*\) from public\.\"")


def main(arguments: list[str]) -> int:
    """Run the tests with everything recorded, and keep it unless the run was cut off; a failed test has said it too."""
    facts_only = "--facts-only" in arguments
    chosen = [one for one in arguments if one != "--facts-only"]
    with TemporaryDirectory(prefix="openslot-record-") as place:
        said, written = Path(place, "statements"), Path(place, "facts")
        said.mkdir()
        written.mkdir()
        release = None if facts_only else _read_release()
        code = _run_tests(chosen, said=said, written=written)
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return code
        _keep_facts(written, kept=load_facts if facts_only else _load_earlier)
        if release is not None:
            asyncio.run(_keep_statements(said, Path(place, "postgres")))
            _write(RELEASE, release)
    return code


def _read_release() -> Release:
    """Name the version and the commit that are recorded: what is recorded must be in it."""
    if _ask_git("status", "--porcelain", "--", "openslot"):
        sys.exit("Commit the changes of the package first: the recording names its commit.")
    if __version__ != VERSION:
        sys.exit(f"Raise the version number to {VERSION} first: {__version__} is not a release.")
    return Release(version=VERSION, commit=_ask_git("rev-parse", "HEAD"))


def _ask_git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=HERE.parents[1], check=True, capture_output=True, text=True).stdout.strip()


def _load_earlier(event_type: str) -> list[GoldenFact]:
    """Read the facts of releases before this one; its own are recorded anew."""
    return [one for one in load_facts(event_type) if one.written_by != VERSION]


def _run_tests(arguments: list[str], *, said: Path, written: Path) -> int:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE / "recorder"), str(HERE.parents[1])]),
        "RECORD_STATEMENTS_TO": str(said),
        "RECORD_FACTS_TO": str(written),
    }
    processes = str(2 * (os.cpu_count() or 1))
    command = [sys.executable, "-m", "pytest", "--processes", processes, *PLUGIN, *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


def _keep_facts(written: Path, *, kept: Callable[[str], list[GoldenFact]]) -> None:
    found: dict[str, list[GoldenFact]] = {}
    for row in _read_lines(written):
        public = msgspec.json.decode(row["public"]) if row["public"] else None
        fact = GoldenFact(written_by=VERSION, fact=msgspec.json.decode(row["fact"]), public=public)
        found.setdefault(row["type"], []).append(fact)
    for event in WIRING.events:
        chosen = choose_facts(kept(event.type), found.get(event.type, []))
        if chosen:
            _write(facts.KEPT / f"{event.type}.json", chosen)


async def _keep_statements(said: Path, postgres_dir: Path) -> None:
    best: dict[str, dict[str, Any]] = {}
    for line in _read_lines(said):
        if DATA.match(line["sql"]) and not NOT_OURS.search(line["sql"]):
            kept = best.get(line["sql"])
            if kept is None or line["richness"] > kept["richness"]:
                best[line["sql"]] = line
    server = start_server(postgres_dir, options={"fsync": "off"})
    try:
        await migrate(server.url)
        connection = await asyncpg.connect(server.url)
        await connection.execute(statements.WITHOUT_REFERENCES)
        tried = [await _describe(connection, best[sql]) for sql in sorted(best)]
        await connection.close()
    finally:
        stop_server(postgres_dir)
    for old in statements.KEPT.glob("*.json"):
        old.unlink()
    _write(statements.KEPT / f"{VERSION}.json", [one for one in tried if one is not None])


async def _describe(connection: asyncpg.Connection, line: dict[str, Any]) -> Statement | None:
    """Ask for a statement's types; leave out what is no statement of the package's own tables."""
    try:
        parameters, columns = describe(await connection.prepare(line["sql"]))
    except asyncpg.PostgresError as error:
        print(f"left out, {error}: {line['sql']}")  # noqa: T201 - said to who records
        return None
    sql, arguments = line["sql"].split("\n"), line["arguments"]
    one = Statement(origin=line["origin"], sql=sql, parameters=parameters, columns=columns, arguments=arguments)
    fault = await find_fault(connection, one) if arguments is not None else None
    if fault is not None:
        print(f"recorded without arguments, {fault}")  # noqa: T201 - said to who records
    return one if fault is None else msgspec.structs.replace(one, arguments=None)


def _read_lines(directory: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for path in directory.iterdir() for line in path.read_bytes().splitlines()]


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
