"""How long tests take, by folder and by kind, and the slowest of them: printed after each run, and kept in a file."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

import pytest
from msgspec import Struct

MAX_SHOWN = 30
# The first of these that a test asks for is its kind.
BY_FIXTURE = {"chromium": "browser", "web_pair": "processes", "client": "one request", "database_url": "database"}
KINDS = ("pure", "database", "one request", "browser", "processes")
SHORTEST_RUN = 100

DRAWERS = frozenset({"platform", "domains", "vendors", "doors"})


class Timed(Struct, frozen=True):
    """How long a test has taken with its fixtures."""

    name: str
    kind: str
    seconds: float

    @property
    def folder(self) -> str:
        """The folder of the tests, or the file if it is in none."""
        path = PurePath(self.name.partition("::")[0])
        return next(each for each in path.parts[1:] if each not in DRAWERS)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run keep its durations."""
    parser.addoption("--durations-to", type=Path, help="write how long each test of this part has taken into this file")


def pytest_configure(config: pytest.Config) -> None:
    """Time all tests of the run."""
    config.pluginmanager.register(Durations())


class Durations:
    """Notes the kind of each test where it runs, and adds up its seconds where it is reported."""

    def __init__(self) -> None:
        self._children_before = 0.0
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._kinds: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Note what processes that have ended by now took."""
        self._children_before = measure_children()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Say with the last report of a test of which kind it is."""
        has_started_any = measure_children() > self._children_before
        item.user_properties.append(("kind", find_kind(item, has_started_any=has_started_any)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a part of a test has taken."""
        self._seconds[report.nodeid] += report.duration
        if kind := dict(report.user_properties).get("kind"):
            self._kinds[report.nodeid] = str(kind)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Print where the time went, and keep it if that was asked for."""
        timed = [Timed(name, self._kinds.get(name, "pure"), seconds) for name, seconds in self._seconds.items()]
        if len(timed) >= SHORTEST_RUN:
            terminalreporter.section("Seconds")
            for line in write_summary(timed):
                terminalreporter.line(line)
        if place := config.getoption("durations_to"):
            write_file(place, timed, part=config.getoption("part"))


def measure_children() -> float:
    """Return the processor time of the processes that this one has started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def find_kind(item: pytest.Item, *, has_started_any: bool) -> str:
    """Tell what a test needs: a browser, processes of its own, a server in its process, a database, or nothing."""
    asked = getattr(item, "fixturenames", ())
    kind = next((kind for fixture, kind in BY_FIXTURE.items() if fixture in asked), "pure")
    return "processes" if has_started_any and kind != "browser" else kind


def write_summary(timed: Iterable[Timed]) -> Iterator[str]:
    """Write the seconds by kind and by folder, and the slowest tests."""
    tests = sorted(timed, key=lambda each: -each.seconds)
    kinds, folders = add_up(tests, "kind"), add_up(tests, "folder")
    yield "By kind: " + ", ".join(f"{kind} {kinds.get(kind, 0):.0f}" for kind in KINDS)
    yield "By folder: " + ", ".join(f"{folder} {seconds:.0f}" for folder, seconds in folders.items())
    for each in tests[:MAX_SHOWN]:
        yield f"{each.seconds:7.1f}  {each.name} ({each.kind})"


def add_up(timed: Iterable[Timed], name: str) -> dict[str, float]:
    """Add up the seconds of tests that have an attribute in common, the most first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for each in timed:
        seconds[getattr(each, name)] += each.seconds
    return dict(sorted(seconds.items(), key=lambda pair: -pair[1]))


def write_file(place: Path, timed: Iterable[Timed], *, part: str) -> None:
    """Write each test of a part with its kind and its seconds, in the order of their names; keep the other parts."""
    place.parent.mkdir(parents=True, exist_ok=True)
    parts = json.loads(place.read_text("utf-8")) if place.exists() else {}
    rows = {each.name: [each.kind, round(each.seconds, 3)] for each in sorted(timed, key=lambda each: each.name)}
    place.write_text(json.dumps(parts | {part: rows}, indent=0), "utf-8")
