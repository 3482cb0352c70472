"""serve: starts with one command, survives what kills its parts, and leaves nothing behind."""

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from openslot.platform.core.embedded import cluster, find_server
from tests.support.forked import openslot
from tests.support.installation import Installation, ended, installed, interrupt
from tests.support.wait import wait_until


def me(installation: Installation, key: str) -> int:
    return installation.get("/api/v1/me", authorization=f"Bearer {key}").status_code


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_a_second_start_keeps_the_data_and_other_commands_leave_it_running(
    home: Installation, seeded: dict[str, Any]
) -> None:
    serve = home.start("serve", "--demo")
    home.wait_until_ready()
    assert me(home, seeded["apiKey"]) == 200
    again = home.told("seed")
    assert (again["user"], again["admin"]) == (seeded["user"], seeded["admin"])
    assert again["apiKey"] != seeded["apiKey"]
    assert [me(home, again["apiKey"]), me(home, seeded["apiKey"])] == [200, 200]
    findings = {finding["name"]: finding["state"] for finding in home.told("doctor")["findings"]}
    assert findings["worker"] == "ok"
    assert "problem" not in findings.values()
    home.told("backup", "create")
    assert me(home, seeded["apiKey"]) == 200
    interrupt(serve)
    code, out, err = ended(serve)
    assert (code, err) == (0, "")
    assert "Openslot is ready" in out
    assert "svc_live_" not in out
    home.wait_until_gone(within=0.5)


@pytest.mark.daily
def test_the_first_start_prints_a_one_time_link_that_works(empty: Installation) -> None:
    serve = empty.start_interpreter("serve")
    empty.wait_until_ready()
    os.kill(serve.pid, signal.SIGHUP)
    code, out, err = ended(serve)
    assert (code, err) == (0, "")
    assert f"{empty.base_url}/setup?token=" in out
    empty.wait_until_gone(within=0.5)


def serve_under_nohup() -> None:
    """Serve as `nohup openslot serve` does."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.execv(sys.executable, [sys.executable, "-m", "openslot", "serve"])


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_under_nohup_it_goes_on_when_the_terminal_is_closed(home: Installation) -> None:
    serve = home.start_function(serve_under_nohup)
    home.wait_until_ready()
    os.killpg(serve.pid, signal.SIGHUP)
    # Without nohup it is gone by then, as the test above says.
    time.sleep(1)
    assert home.get("/readyz").status_code == 200
    interrupt(serve)
    code, _, err = ended(serve)
    assert (code, err) == (0, "")


def serve_and_be_interrupted() -> None:
    """Serve as `openslot serve` does, and press Ctrl-C while the database is being created."""
    create, press = cluster._run, partial(os.killpg, os.getpgid(0), signal.SIGINT)

    def create_and_press(directory: Path, command: list[str], text: str = "") -> None:
        threading.Timer(0.2, press).start()
        create(directory, command, text)
        # Where the first step took less time, it is pressed before the second one.
        press()

    cluster._run = create_and_press
    openslot("serve")


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_ctrl_c_in_the_middle_of_the_first_start_leaves_nothing_half_made(empty: Installation) -> None:
    serve = empty.start_function(serve_and_be_interrupted)
    assert ended(serve)[0] == 0
    assert not (empty.data_dir / "postgres" / "PG_VERSION").exists()
    empty.wait_until_gone()
    assert empty.told("migrate")["applied"]
    assert empty.told("user", "list") == {"users": [], "total": 0}


@pytest.mark.rest("starts and stops services: one test in make test does")
@pytest.mark.own_database
def test_a_request_in_flight_is_answered_before_the_end(empty: Installation, database_url: str) -> None:
    empty.environment["DATABASE_URL"] = database_url
    serve = empty.start("serve")
    empty.wait_until_ready("/healthz")
    body = b"email=nobody@example.com&password=not-the-password"
    head = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    with socket.create_connection(("127.0.0.1", empty.port)) as asking:
        asking.sendall(f"{head}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
        # It is in flight when its handler asks for the body.
        assert asking.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        asking.sendall(body[:10])
        serve.terminate()
        time.sleep(0.5)
        asking.sendall(body[10:])
        answer = asking.recv(65536)
    assert answer.startswith(b"HTTP/1.1 4")
    assert ended(serve)[0] == 0
    empty.wait_until_gone(within=0.5)


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_what_is_killed_comes_back(home: Installation, seeded: dict[str, Any]) -> None:
    serve = home.start("serve")
    home.wait_until_ready()
    before = {process.pid for process in psutil.Process(serve.pid).children()}
    postmaster = home.postmaster()
    os.kill(postmaster, signal.SIGKILL)
    wait_until(lambda: find_server(home.data_dir) is not None and home.postmaster() != postmaster)
    home.wait_until_ready()
    for child in psutil.Process(serve.pid).children():
        with suppress(psutil.NoSuchProcess):
            if child.name() in {"openslot-web", "openslot-worker"}:
                child.kill()
    # The socket stays open while the web is away: a request waits and is not refused.
    assert me(home, seeded["apiKey"]) == 200
    home.wait_until_ready()
    # What was killed may take a moment to die, and the worker that is gone was alive a few seconds ago.
    wait_until(lambda: before.isdisjoint(process.pid for process in psutil.Process(serve.pid).children()))
    serve.terminate()
    code, _, err = ended(serve)
    assert code == 0
    assert [kind for kind in ("web", "worker") if f"kind={kind}" in err or f'"kind": "{kind}"' in err] == [
        "web",
        "worker",
    ]
    assert "a process ended and is started again" in err
    home.wait_until_gone(within=0.5)


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_killed_without_warning_the_next_start_takes_over_and_cleans_up(
    home: Installation, seeded: dict[str, Any]
) -> None:
    first = home.start("serve")
    home.wait_until_ready()
    server = home.postmaster()
    first.kill()
    ended(first)
    wait_until(lambda: not {"openslot-web", "openslot-worker"} & home.names())
    second = home.start("serve")
    home.wait_until_ready()
    assert home.postmaster() == server
    home.kill_all()
    ended(second)
    third = home.start("serve")
    home.wait_until_ready()
    assert me(home, seeded["apiKey"]) == 200
    third.terminate()
    assert ended(third)[0] == 0
    home.wait_until_gone(within=0.5)


@pytest.mark.rest("starts and stops services: one test in make test does")
def test_two_services_on_one_data_directory_share_the_database_and_the_last_one_stops_it(
    home: Installation, seeded: dict[str, Any]
) -> None:
    first = home.start("serve")
    home.wait_until_ready()
    with installed(home.data_dir) as other:
        second = other.start("serve")
        other.wait_until_ready("/healthz")
        assert [me(home, seeded["apiKey"]), me(other, seeded["apiKey"])] == [200, 200]
        first.terminate()
        assert ended(first)[0] == 0
        assert not {"openslot-web", "openslot-worker"} & home.names()
        other.wait_until_ready()
        assert me(other, seeded["apiKey"]) == 200
        second.terminate()
        assert ended(second)[0] == 0
        other.wait_until_gone(within=0.5)


@pytest.mark.rest("starts and stops services: one test in make test does")
@pytest.mark.own_database
def test_several_web_processes_share_one_socket_and_end_together(database_url: str, empty: Installation) -> None:
    empty.environment["DATABASE_URL"] = database_url
    web = empty.start("web", "--workers", "2")
    empty.wait_until_ready("/healthz")
    # The first one may answer before the second one is there.
    wait_until(lambda: len(psutil.Process(web.pid).children()) == 2)
    interrupt(web)
    assert ended(web)[0] == 0
    empty.wait_until_gone(within=0.5)
