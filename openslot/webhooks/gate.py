"""How many deliveries one worker has under way to one endpoint and for one owner, and when the rest may come again."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

AT_ONCE = 4
AT_ONCE_WHILE_FAILING = 1
AT_ONCE_FOR_ONE_OWNER = 8
MOST_REMEMBERED = 10_000

UNKNOWN_PACE = timedelta(milliseconds=200)
CLOSEST = timedelta(milliseconds=50)
WIDEST = timedelta(milliseconds=250)
LONGEST_LINE = timedelta(seconds=60)


class Line(Struct):
    """Those who are inside, how long each takes, and when the last one who was turned away comes again."""

    inside: int = 0
    pace: timedelta = UNKNOWN_PACE
    failing: bool = False
    last_turn: datetime | None = None

    @property
    def at_once(self) -> int:
        """How many may be inside."""
        return AT_ONCE_WHILE_FAILING if self.failing else AT_ONCE

    def next_turn(self, *, now: datetime) -> timedelta:
        """Give the next place in the line, as far behind the one before as a place becomes free."""
        step = min(self.pace / self.at_once, WIDEST)
        turn = max(self.last_turn or now, now) + step
        # A line that is too long begins again at the front: an endpoint that has recovered is noticed soon.
        if turn - now > LONGEST_LINE:
            turn = now + step
        self.last_turn = turn
        return max(turn - now, CLOSEST)


class Gate:
    """Keeps an endpoint that answers slowly or never from taking the places that others need."""

    def __init__(self) -> None:
        self._lines: dict[UUID, Line] = {}
        self._owners: dict[UUID | None, int] = {}

    def enter(self, endpoint_id: UUID, owner_id: UUID | None, *, now: datetime) -> timedelta | None:
        """Go in, or be told how long to wait before coming again."""
        line = self._lines.setdefault(endpoint_id, Line())
        if line.inside >= line.at_once or self._owners.get(owner_id, 0) >= AT_ONCE_FOR_ONE_OWNER:
            return line.next_turn(now=now)
        line.inside += 1
        self._owners[owner_id] = self._owners.get(owner_id, 0) + 1
        return None

    def learn(self, endpoint_id: UUID, *, took: timedelta, failed: bool) -> None:
        """Remember how the endpoint answers."""
        line = self._lines[endpoint_id]
        line.pace = (line.pace * 3 + took) / 4
        if line.failing and not failed:
            line.last_turn = None
        line.failing = failed

    def leave(self, endpoint_id: UUID, owner_id: UUID | None) -> None:
        """Make room for the next."""
        self._lines[endpoint_id].inside -= 1
        self._owners[owner_id] -= 1
        if not self._owners[owner_id]:
            del self._owners[owner_id]
        if len(self._lines) > MOST_REMEMBERED:
            self._lines = {known: line for known, line in self._lines.items() if line.inside}
