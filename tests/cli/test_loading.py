"""What a process loads before it can begin: start-up time is memory and processor time of every process."""

import subprocess
import sys

import pytest

LOAD = """
import sys, threading, psutil
import openslot.processes.web
print(sorted({"PIL", "authlib", "holidays", "joserfc", "phonenumbers", "segno"} & sys.modules.keys()))
import openslot.processes.worker
print(sorted({"PIL", "authlib", "holidays", "joserfc", "phonenumbers", "segno"} & sys.modules.keys()))
print(threading.active_count(), psutil.Process().num_threads(), psutil.Process().net_connections("all"))
"""


@pytest.mark.rest("starts an interpreter that loads everything")
def test_processes_load_only_what_most_need_and_start_nothing_that_a_fork_would_break() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    by_web, by_worker, started = done.stdout.splitlines()
    assert by_web == "[]"
    assert by_worker == "[]"
    assert started == "1 1 []"
