#!/usr/bin/env python3
"""Say what changed between two runs of the tests: `scripts/durations.py BEFORE.json AFTER.json`.

A run has parts: `daily`, which is `make test`, and `rest`, which `make test-all` adds. A test in both counts with both.
"""

import json
import sys
from collections import Counter
from pathlib import Path

MAX_SHOWN = 30


def main(before: Path, after: Path) -> None:
    """Print the change of all tests, of each kind and folder, and the tests that changed most."""
    old, new = (_read(path) for path in (before, after))
    print(f"{len(old)} → {len(new)} tests, {_sum(old):.0f} → {_sum(new):.0f} s")
    for heading, find in (("kind", _kind), ("folder", _folder)):
        earlier, later = _add_up(old, find), _add_up(new, find)
        changes = {name: later.get(name, 0) - earlier.get(name, 0) for name in earlier | later}
        for name in sorted(changes, key=lambda each: -abs(changes[each])):
            print(f"{heading:7} {name:20} {earlier.get(name, 0):8.1f} → {later.get(name, 0):8.1f}")
    moved = {name: new.get(name, ["", 0])[1] - old.get(name, ["", 0])[1] for name in old | new}
    for name in sorted(moved, key=lambda each: -abs(moved[each]))[:MAX_SHOWN]:
        state = " (new)" if name not in old else " (gone)" if name not in new else ""
        print(f"{moved[name]:+8.1f} {name}{state}")


def _read(path: Path) -> dict[str, list]:
    tests: dict[str, list] = {}
    for part in json.loads(path.read_text("utf-8")).values():
        for name, (kind, seconds) in part.items():
            tests[name] = [kind, tests.get(name, [kind, 0])[1] + seconds]
    return tests


def _sum(run: dict[str, list]) -> float:
    return sum(seconds for _, seconds in run.values())


def _kind(name: str, kind: str) -> str:
    return kind


def _folder(name: str, kind: str) -> str:
    return "/".join(name.partition("::")[0].split("/")[:2])


def _add_up(run: dict[str, list], find) -> dict[str, float]:
    seconds: Counter = Counter()
    for name, (kind, taken) in run.items():
        seconds[find(name, kind)] += taken
    return dict(seconds)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
