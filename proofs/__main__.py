"""Run proofs by name, or all of them: `python -m proofs [NAME ...] [--short]`."""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from proofs.figures import Figure, Impossible

# Each is a module here with `prove(place, *, short)`, which returns figures. The short form takes at most two minutes.
PARTS = {
    "clocks": "the clock of one process, and of all but the database, is set ahead and back by an hour and a day",
    "peers": "the lines to database, mail, calendar, webhook and CRM are delayed, reset, half-closed and silent",
    "disk": "the disk of the database, and that of the data directory, is full",
    "kills": "1,000 bookings under 100 kills: mails, webhooks, calendar events and CRM",
    "failover": "PostgreSQL under Patroni: the primary is killed ten times while people book",
    "partition": "the lines in a cluster are cut: service to database, primary to etcd and standby",
    "pooler": "PgBouncer is restarted ten times while people book",
    "asynchronous": "the counter-example: what is lost with a primary whose standby is asynchronous and behind",
    "upgrade": "the last release is upgraded to this one while people book with both",
    "restore": "a busy installation is backed up, restored on empty directories, and goes on",
    "secrets": "every secret that was issued is looked for in dump, logs, exports, lists and refusals",
    "tests": "the tests of races, crashes and parsers with their long counts",
    "mutants": "the product without each of its guards: every one must be noticed",
}
# The others are drills, which wait for most of their time: beside these they cost an hour little.
COMPUTING = ("tests", "mutants")
# Exit codes; 2 means that the arguments are wrong.
KEPT, NOT_KEPT, NOT_RUN = 0, 1, 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"one of: {', '.join(PARTS)}; without any, all of them")
    parser.add_argument("--short", action="store_true", help="fewer rounds: at most two minutes each")
    chosen = parser.parse_args()
    if unknown := [part for part in chosen.part if part not in PARTS]:
        parser.error(f"There is no proof {', '.join(unknown)}. There are: {', '.join(PARTS)}.")
    match chosen.part or list(PARTS):
        case [part]:
            return _run(part, short=chosen.short)
        case parts:
            ended = _run_all(parts, short=chosen.short)
    not_run = [part for part, code in ended.items() if code == NOT_RUN]
    not_kept = [part for part, code in ended.items() if code not in {KEPT, NOT_RUN}]
    for words, named in (("Not run", not_run), ("Not kept", not_kept)):
        if named:
            print(f"\n{words}: {', '.join(named)}", file=sys.stderr)
    return NOT_KEPT if not_kept else NOT_RUN if not_run else KEPT


def _run_all(parts: list[str], *, short: bool) -> dict[str, int]:
    """Run drills one after the other, and beside them those that compute; return the exit code of each."""
    lanes = [[part for part in parts if (part in COMPUTING) is is_computing] for is_computing in (False, True)]

    def run(lane: list[str]) -> list[tuple[str, int]]:
        return [(part, _run_apart(part, short=short)) for part in lane]

    with ThreadPoolExecutor(len(lanes)) as pool:
        return dict(chain.from_iterable(pool.map(run, lanes)))


def _run_apart(part: str, *, short: bool) -> int:
    """Run one proof in a process of its own, print at its end what it has printed, and return its exit code."""
    command = [sys.executable, "-m", "proofs", part, *(["--short"] if short else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, end="", flush=True)
    return done.returncode


def _run(part: str, *, short: bool) -> int:
    """Run one proof in a directory of its own, print its figures, and return the exit code that says it all."""
    print(f"\n{part}: {PARTS[part]}", flush=True)
    began = time.monotonic()
    with TemporaryDirectory(prefix="openslot-proof-") as name:
        place = Path(name)
        place.chmod(0o755)
        try:
            figures: list[Figure] = import_module(f"proofs.{part}").prove(place, short=short)
        except Impossible as fault:
            print(f"{'not run':>44}  {fault}", flush=True)
            return NOT_RUN
    for figure in figures:
        print(figure)
    print(f"{'took':>44}  {time.monotonic() - began:.0f} s", flush=True)
    return KEPT if all(figure.is_kept for figure in figures) else NOT_KEPT


if __name__ == "__main__":
    sys.exit(main())
