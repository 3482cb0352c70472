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
    "clocks": "the clock of a process, and of a machine, is set ahead and back by an hour and a day",
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"one of: {', '.join(PARTS)}; without any, all of them")
    parser.add_argument("--short", action="store_true", help="fewer rounds: at most two minutes each")
    chosen = parser.parse_args()
    if unknown := [part for part in chosen.part if part not in PARTS]:
        parser.error(f"There is no proof {', '.join(unknown)}. There are: {', '.join(PARTS)}.")
    match chosen.part or list(PARTS):
        case [part]:
            broken = [] if _run(part, short=chosen.short) else [part]
        case parts:
            broken = _run_all(parts, short=chosen.short)
    if broken:
        print(f"\nNot kept: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def _run_all(parts: list[str], *, short: bool) -> list[str]:
    """Run drills one after the other, and beside them those that compute; return the parts that were not kept."""
    lanes = [[part for part in parts if (part in COMPUTING) is is_computing] for is_computing in (False, True)]

    def run(lane: list[str]) -> list[str]:
        return [part for part in lane if not _run_apart(part, short=short)]

    with ThreadPoolExecutor(len(lanes)) as pool:
        return list(chain.from_iterable(pool.map(run, lanes)))


def _run_apart(part: str, *, short: bool) -> bool:
    """Run one proof in a process of its own, print at its end what it has printed, and say whether all was kept."""
    command = [sys.executable, "-m", "proofs", part, *(["--short"] if short else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, end="", flush=True)
    return done.returncode == 0


def _run(part: str, *, short: bool) -> bool:
    """Run one proof in a directory of its own, print its figures, and say whether all were kept."""
    print(f"\n{part}: {PARTS[part]}", flush=True)
    began = time.monotonic()
    with TemporaryDirectory(prefix="openslot-proof-") as name:
        place = Path(name)
        place.chmod(0o755)
        try:
            figures: list[Figure] = import_module(f"proofs.{part}").prove(place, short=short)
        except Impossible as fault:
            print(f"{'not run':>44}  {fault}", flush=True)
            return True
    for figure in figures:
        print(figure)
    print(f"{'took':>44}  {time.monotonic() - began:.0f} s", flush=True)
    return all(figure.is_kept for figure in figures)


if __name__ == "__main__":
    sys.exit(main())
