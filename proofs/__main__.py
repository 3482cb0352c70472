"""Run proofs by name, or all of them: `python -m proofs [NAME ...] [--short]`."""

import argparse
import sys
import time
from importlib import import_module
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"one of: {', '.join(PARTS)}; without any, all of them")
    parser.add_argument("--short", action="store_true", help="fewer rounds: at most two minutes each")
    chosen = parser.parse_args()
    if unknown := [part for part in chosen.part if part not in PARTS]:
        parser.error(f"There is no proof {', '.join(unknown)}. There are: {', '.join(PARTS)}.")
    broken = [part for part in chosen.part or PARTS if not _run(part, short=chosen.short)]
    if broken:
        print(f"\nNot kept: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


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
