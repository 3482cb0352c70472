"""What a process loads before it can begin: start-up time is memory and processor time of every process."""

import subprocess
import sys

IMPORT = "import sys, threading, psutil, openslot.cli.web, openslot.cli.work\n"


def loading(then: str) -> str:
    """Load what web processes and workers are forked with, and tell what a script then prints."""
    done = subprocess.run([sys.executable, "-c", IMPORT + then], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_web_process_does_not_load_what_only_some_need() -> None:
    rarely_needed = {"PIL", "authlib", "holidays", "joserfc", "pgqueuer", "phonenumbers", "segno"}
    code = f"import sys, openslot.cli.web; print(*{rarely_needed} & sys.modules.keys())"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "\n"


def test_a_worker_does_not_load_what_only_some_need() -> None:
    assert (
        loading('print({"PIL", "authlib", "holidays", "joserfc", "phonenumbers", "segno"} & sys.modules.keys())')
        == "set()"
    )


def test_loading_starts_nothing_that_a_fork_would_break() -> None:
    started = "(threading.active_count(), psutil.Process().num_threads(), psutil.Process().net_connections('all'))"
    assert loading(f"print({started})") == "(1, 1, [])"
