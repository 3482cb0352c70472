"""What a process loads before it can begin: start-up time is memory and processor time of every process."""

import subprocess
import sys


def test_a_web_process_does_not_load_what_only_some_need() -> None:
    rarely_needed = {"PIL", "authlib", "holidays", "joserfc", "pgqueuer", "phonenumbers", "segno"}
    code = f"import sys, openslot.cli.web; print(*{rarely_needed} & sys.modules.keys())"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "\n"
