"""Processes are forked from the supervisor: they share its memory, and nothing that could hold another one up."""

import json
import os
import re
import signal
import socket
from pathlib import Path
from typing import Any

import psutil
import pytest

from openslot.platform.core.embedded import has_owner
from openslot.platform.core.environment import load_settings
from openslot.processes.exits import leave_on_signals
from openslot.processes.forks import FORK
from openslot.processes.supervisor import Supervisor
from tests.support.forked import Forked
from tests.support.installation import Command, Installation, ended
from tests.support.wait import wait_until

pytestmark = pytest.mark.rest("starts and stops services: one test in make test does")

TRIES = 40


def child_named(serve: Command, name: str) -> psutil.Process:
    """Find the one child with this name."""
    (found,) = (child for child in psutil.Process(serve.pid).children() if child.name() == name)
    return found


def size(pid: int, kind: str) -> int:
    """Tell how many kilobytes of its memory are of this kind."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.findall(rf"^{kind}: +(\d+) kB$", rollup, re.MULTILINE)[0])


def test_processes_share_memory_but_no_descriptor_that_keeps_another_one_going(
    home: Installation, seeded: dict[str, Any]
) -> None:
    serve = home.start_interpreter("serve")
    home.wait_until_ready()
    web, worker = child_named(serve, "openslot-web"), child_named(serve, "openslot-worker")
    pids = [serve.pid, web.pid, worker.pid]
    shared = sum(size(pid, "Pss_Anon") for pid in pids) / sum(size(pid, "Anonymous") for pid in pids)
    # It can't close what it has: whatever the worker holds of the supervisor stays open.
    worker.send_signal(signal.SIGSTOP)
    serve.kill()
    ended(serve)
    wait_until(lambda: not web.is_running())
    is_owned = has_owner(home.data_dir)
    with socket.create_server(("127.0.0.1", home.port)):
        worker.send_signal(signal.SIGCONT)
    wait_until(lambda: not worker.is_running())

    # Without a fork, no page of the heap is shared, and this is 1.
    assert shared < 0.7
    assert not is_owned


def count_requests(metrics: str) -> float:
    """Add up the requests to the API."""
    counted = re.findall(r'^openslot_request_seconds_count\{.*door="rest".*} ([\d.]+)$', metrics, re.MULTILINE)
    return sum(map(float, counted))


@pytest.mark.own_database
def test_several_web_processes_count_together(database_url: str, empty: Installation) -> None:
    empty.environment["DATABASE_URL"] = database_url
    web = empty.start_interpreter("web", "--workers", "2")
    empty.wait_until_ready("/healthz")
    statuses = {empty.get("/api/v1/me").status_code for _ in range(TRIES)}
    # A request is counted when it is answered: the last one may be read from the other process before that.
    wait_until(lambda: count_requests(empty.get("/metrics").text) >= TRIES)
    # What one process has read from the database is not shown again as its own by the next.
    metrics = [empty.get("/metrics").text for _ in range(3)][-1]
    web.terminate()
    code, _, err = ended(web)

    assert statuses <= {401, 429}
    assert count_requests(metrics) == TRIES
    refused = re.findall(r"^openslot_refused_credentials_total\{.*} ([\d.]+)$", metrics, re.MULTILINE)
    assert sum(map(float, refused)) == TRIES
    assert re.findall(r"^openslot_workers.*$", metrics, re.MULTILINE) == ["openslot_workers 0.0"]
    assert code == 0
    # Each process names an address that is kept out, once.
    lines = [json.loads(line) for line in err.splitlines()]
    assert {line["event"] for line in lines} == {"too many failed authentications"}
    assert len(lines) <= 2


def stopped_while_forking() -> None:
    """Begin as a supervisor does, and be told to stop when a child has just been forked."""
    start = FORK.Process.start

    def start_and_stop(process: Any) -> None:
        start(process)
        os.kill(os.getpid(), signal.SIGTERM)

    FORK.Process.start = start_and_stop  # type: ignore[assignment]
    leave_on_signals(0)
    with Supervisor(load_settings({"port": 0}, environ={})) as supervisor:
        supervisor.start_worker("postgresql://nobody@127.0.0.1:1/nowhere")


def test_a_signal_while_a_child_is_forked_leaves_no_child_behind() -> None:
    supervisor = Forked(stopped_while_forking)
    try:
        assert supervisor.wait(60) == 0
    finally:
        supervisor.kill()
