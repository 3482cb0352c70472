"""Every change of every zone's clocks from 2026 to 2030, read with zdump or straight from the zone's file."""

import calendar
import re
import shutil
import struct
import subprocess
import sysconfig
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zoneinfo import TZPATH

FIRST_YEAR, LAST_YEAR = 2026, 2030
BEGIN, END = calendar.timegm((FIRST_YEAR, 1, 1, 0, 0, 0)), calendar.timegm((LAST_YEAR + 1, 1, 1, 0, 0, 0))

_LINE = re.compile(r"(\S+) +\w+ (\w+ +\d+ \d+:\d+:\d+ \d+) UTC? = .* gmtoff=(-?\d+)")
_HEADER = struct.Struct(">4sc15x6l")


class Change(NamedTuple):
    """A change of the clocks: from `at` on they are `after` seconds ahead of UTC, `before` it was another number."""

    at: int
    before: int
    after: int


def path_of(zone: str) -> Path:
    """Find the very file from which Python reads a zone."""
    roots = [*TZPATH, f"{sysconfig.get_path('purelib')}/tzdata/zoneinfo"]
    return next(path for root in roots if (path := Path(root, zone)).is_file())


@cache
def changes_by_zone(zones: tuple[str, ...]) -> dict[str, list[Change]]:
    """List each zone's changes, as another program than Python tells them."""
    if shutil.which("zdump"):
        return _ask_zdump(zones)
    return {zone: read_changes(path_of(zone).read_bytes()) for zone in zones}


def _ask_zdump(zones: tuple[str, ...]) -> dict[str, list[Change]]:
    # Many zones are other names of one file, which is asked about once.
    files = {zone: path_of(zone) for zone in zones}
    namesakes = defaultdict(list)
    for zone, file in files.items():
        namesakes[file.read_bytes()].append(zone)
    paths = {str(files[names[0]]): names for names in namesakes.values()}
    command = ["zdump", "-v", "-c", f"{FIRST_YEAR},{LAST_YEAR + 1}", *paths]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    offsets: dict[str, dict[int, int]] = {zone: {} for zone in zones}
    for line in said.splitlines():
        if found := _LINE.match(line):
            at = calendar.timegm(time.strptime(found[2], "%b %d %H:%M:%S %Y"))
            for zone in paths[found[1]]:
                offsets[zone][at] = int(found[3])
    return {
        zone: [
            Change(at, told[at - 1], after)
            for at, after in sorted(told.items())
            if BEGIN <= at < END and told.get(at - 1, after) != after
        ]
        for zone, told in offsets.items()
    }


def read_changes(tzif: bytes) -> list[Change]:
    """Read the changes from a zone's file; what its last line rules instead of listing is not found here."""
    size = _block_size(_HEADER.unpack_from(tzif), time_size=4)
    at = _HEADER.size + size
    _, _, _, _, _, changes, types, _ = _HEADER.unpack_from(tzif, at)
    at += _HEADER.size
    times = struct.unpack_from(f">{changes}q", tzif, at)
    kinds = tzif[at + changes * 8 : at + changes * 9]
    offsets = [struct.unpack_from(">l", tzif, at + changes * 9 + index * 6)[0] for index in range(types)]
    before = offsets[:1] + [offsets[kind] for kind in kinds]
    return [
        Change(when, old, offsets[kind])
        for when, old, kind in zip(times, before, kinds, strict=False)
        if BEGIN <= when < END and old != offsets[kind]
    ]


def _block_size(header: tuple[int, ...], *, time_size: int) -> int:
    _, _, utc, standard, leaps, changes, types, letters = header
    return changes * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + standard + utc
