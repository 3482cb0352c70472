"""What a process loads before it can begin: start-up time is memory and processor time of every process."""

import subprocess
import sys


def test_a_web_process_does_not_load_the_queue() -> None:
    code = "import sys, openslot.cli.web; print('pgqueuer' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "False\n"
