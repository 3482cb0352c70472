"""Tests in several processes, forked once all tests are collected: collecting takes a process ten seconds.

A test that fails is run once more at the end, alone: on a busy machine, some fail that are right. Those that pass then
are named under "Failed once" and counted in `test-results/failed-once.json`; more than three of them fail the run. A
test with the mark `promise` has no second try (`tests/support/promises.py`). One that does not end has failed after a
quarter of an hour, with OPENSLOT_LONG after an hour: its process says where it waits, and is ended with all that it has
started. If it can't even do that, or does not end after its last test, the first process ends it.
"""

import json
import multiprocessing
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil
import pytest
from _pytest.runner import runtestprotocol

from tests.support.parts import LONG
from tests.support.stuck import tell_where_it_waits

FORK = multiprocessing.get_context("fork")
TICKET_SIZE = 4
# More than these have a reason in common.
MAX_SECOND_TRIES = 20
# More than these are no accident of a busy machine.
MAX_FAILED_ONCE = 3
# Time for a process to notice by itself that a test takes too long.
GRACE = 20.0
FAILED_ONCE = pytest.StashKey[dict[str, str]]()

Reports = list[dict[str, Any]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the number of processes be chosen."""
    parser.addoption("--processes", type=int, default=1, help="run the tests in this many processes")
    parser.addoption("--failed-once-to", type=Path, help="count in this file which tests pass at the second try alone")
    # On a busy machine the longest takes three minutes; no long count may take longer than all proofs do.
    longest = 3600 if LONG else 900
    parser.addoption(
        "--max-seconds", type=float, default=longest, help="end a test that takes longer, with several processes"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests in as many processes as were asked for."""
    count = session.config.getoption("processes")
    if count == 1 or session.testsfailed or session.config.option.collectonly:
        return None
    # The temporary directory of the run is made here, so that all processes have the same.
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    run = Run(session)
    run.finish(*(_begin(session, run.tickets) for _ in range(count)))
    if run.unfinished and not run.is_stopped:
        # A process has ended too early: another one takes what it has left.
        run.finish(_begin(session, list(run.unfinished)))
    run.tell_unfinished()
    _try_again(session, run.failed)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Count the tests that have passed at the second try alone; the run has failed if they are too many."""
    once = session.config.stash.get(FAILED_ONCE, {})
    if place := session.config.getoption("failed_once_to"):
        _count_failed_once(place, once)
    if len(once) > MAX_FAILED_ONCE:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the tests that have passed at the second try alone."""
    if once := config.stash.get(FAILED_ONCE, {}):
        terminalreporter.section("Failed once")
        for name, why in once.items():
            terminalreporter.line(f"{name} ({why})")
        if len(once) > MAX_FAILED_ONCE:
            terminalreporter.line(f"{len(once)} tests failed once: more than {MAX_FAILED_ONCE} fail the run")


def _count_failed_once(place: Path, once: Mapping[str, str]) -> None:
    """Add the tests of this run to those of earlier ones."""
    before = json.loads(place.read_text("utf-8")) if place.exists() else {}
    counts = Counter(before) + Counter(once.keys())
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(dict(sorted(counts.items())), indent=1), "utf-8")


class Run:
    """What has come of the tests so far: some are not finished, others have failed and may be tried again."""

    def __init__(self, session: pytest.Session) -> None:
        self.tickets = Tickets(session.items)
        self.unfinished = dict(enumerate(session.items))
        self.failed: dict[int, Reports] = {}
        self._session = session
        self._codes: list[int] = []

    @property
    def is_stopped(self) -> bool:
        return bool(self._session.shouldfail or self._session.shouldstop)

    def finish(self, *begun: tuple[Connection, Any]) -> None:
        """Take what these processes send until all of them have ended."""
        for number, reports in _receive(self._session, begun):
            self._take(number, reports)
            if self.is_stopped:
                self.tickets.withdraw()
        for _, process in begun:
            process.join()
            self._codes.append(process.exitcode)

    def tell_unfinished(self) -> None:
        """Let those have failed that no process has finished."""
        said = f"This test did not end: the exit codes of the processes are {self._codes}."
        for number, item in () if self.is_stopped else list(self.unfinished.items()):
            self._take(number, [_failure(item, said)])

    def _take(self, number: int, reports: Reports) -> None:
        item = self.unfinished.pop(number)
        if _has_failed(reports) and _may_fail_once(item):
            self.failed[number] = reports
        else:
            _report(self._session, item, reports)


def _has_failed(reports: Reports) -> bool:
    return any(report["outcome"] == "failed" for report in reports)


def _may_fail_once(item: pytest.Item) -> bool:
    return not item.config.getoption("maxfail") and item.get_closest_marker("promise") is None


def _try_again(session: pytest.Session, failed: dict[int, Reports]) -> None:
    """Run each of these tests in a process of its own, one after the other, and report what comes of that."""
    once = session.config.stash[FAILED_ONCE] = {}
    for number, first in failed.items():
        item = session.items[number]
        second = first if len(failed) > MAX_SECOND_TRIES else _run_alone(session, number)
        if not _has_failed(second):
            why = next(report for report in first if report["outcome"] == "failed")
            once[item.nodeid] = f"{why['when']}: {_last_line(session, why)}"
        _report(session, item, second)


def _run_alone(session: pytest.Session, number: int) -> Reports:
    begun = [(_, process)] = [_begin(session, [number])]
    reports = dict(_receive(session, begun)).get(number)
    process.join()
    item = session.items[number]
    return reports or [_failure(item, f"This test did not end: the exit code of its process is {process.exitcode}.")]


def _last_line(session: pytest.Session, report: dict[str, Any]) -> str:
    read = session.config.hook.pytest_report_from_serializable(config=session.config, data=report)
    message = getattr(getattr(read.longrepr, "reprcrash", None), "message", read.longreprtext)
    return str(message).strip().partition("\n")[0]


class Tickets:
    """The tests of a file go to one process, which shares what is made once for the file; those to spread do not."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._together: list[list[int]] = []
        for _, group in groupby(range(len(items)), key=lambda number: _go_together(items[number])):
            self._together.append(list(group))
        self._reading, writing = os.pipe()
        for number in range(len(self._together)):
            os.write(writing, number.to_bytes(TICKET_SIZE))
        os.close(writing)

    def __iter__(self) -> Iterator[int]:
        while ticket := os.read(self._reading, TICKET_SIZE):
            yield from self._together[int.from_bytes(ticket)]

    def withdraw(self) -> None:
        """Leave nothing to take for any process."""
        while os.read(self._reading, 65536):
            pass


def _go_together(item: pytest.Item) -> tuple[Path, str]:
    return item.path, item.nodeid if item.get_closest_marker("spread") else ""


def _begin(session: pytest.Session, tickets: Iterable[int]) -> tuple[Connection, Any]:
    receiving, sending = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_work, args=(session, tickets, sending))
    process.start()
    # Else it would stay open when the process has ended.
    sending.close()
    return receiving, process


def _work(session: pytest.Session, tickets: Iterable[int], sending: Connection) -> None:
    """Run tests until there are none left, in a process of their own."""
    # What is printed would go to the same file as what the others print.
    capture = session.config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    random.seed()
    sender = Sender(sending)
    session.config.pluginmanager.register(sender)
    number = next(numbers := iter(tickets), None)
    while number is not None:
        following = next(numbers, None)
        sender.number = number
        session.config.hook.pytest_runtest_protocol(
            item=session.items[number], nextitem=None if following is None else session.items[following]
        )
        number = following


class Sender:
    """Runs a test and sends what came of it, instead of printing that."""

    number: int

    def __init__(self, sending: Connection) -> None:
        self._sending = sending

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test and send its reports."""
        limit = threading.Timer(item.config.getoption("max_seconds"), self._give_up, [item])
        limit.daemon = True
        limit.start()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        limit.cancel()
        self._sending.send((self.number, [_write(item, report) for report in reports]))
        return True

    def _give_up(self, item: pytest.Item) -> None:
        said = f"This test did not end in time.\n{tell_where_it_waits()}"
        self._sending.send((self.number, [_failure(item, said)]))
        _end_started(os.getpid())
        os._exit(1)


def _receive(session: pytest.Session, begun: Sequence[tuple[Connection, Any]]) -> Iterator[tuple[int, Reports]]:
    """Yield what processes send until all of them have ended; if they are silent for too long, end them."""
    open_ones = dict(begun)
    while open_ones:
        ready = wait(list(open_ones), timeout=session.config.getoption("max_seconds") + GRACE)
        if not ready:
            for process in open_ones.values():
                _end_started(process.pid)
                # Its stacks are printed to the standard error output.
                os.kill(process.pid, signal.SIGABRT)
        for each in ready:
            assert isinstance(each, Connection)
            try:
                yield each.recv()
            except EOFError:
                del open_ones[each]


def _end_started(pid: int) -> None:
    for child in psutil.Process(pid).children(recursive=True):
        child.kill()


def _report(session: pytest.Session, item: pytest.Item, reports: Reports) -> None:
    hook = session.config.hook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        read = hook.pytest_report_from_serializable(config=session.config, data=report)
        hook.pytest_runtest_logreport(report=read)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _failure(item: pytest.Item, said: str) -> dict[str, Any]:
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "call")
    return _write(item, report)


def _write(item: pytest.Item, report: pytest.TestReport) -> dict[str, Any]:
    written: dict[str, Any] = item.config.hook.pytest_report_to_serializable(config=item.config, report=report)
    return written
