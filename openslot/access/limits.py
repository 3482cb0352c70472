"""Sliding logs: never more than N accepted in any 60 seconds, across all processes and machines."""

from collections import Counter
from collections.abc import Sequence
from math import ceil

from msgspec import Struct

from openslot.access import limit_store
from openslot.access.errors import LimitReached
from openslot.core.db import Db, Row
from openslot.i18n import Text


class LimitVerdict(Struct, frozen=True, kw_only=True):
    """Whether one more request is accepted, and the state of the log."""

    taken: bool
    limit: int
    used: int
    retry_after: int

    @property
    def left(self) -> int:
        """How many more requests would be accepted now."""
        return max(0, self.limit - self.used)

    def check(self, message: str = Text("Too many requests")) -> None:
        """Refuse the request if it got no place in the log."""
        if not self.taken:
            raise LimitReached(message, limit=self.limit, retry_after=self.retry_after)


def read_verdict(row: Row, limit: int, *, turn: int = 1) -> LimitVerdict:
    """Read a row that has the verdict's columns and `now`, for the request at this position among those it counts."""
    given = row["taken"]
    return LimitVerdict(
        taken=turn <= given,
        limit=limit,
        used=row["used"] - max(0, given - turn),
        retry_after=seconds_until(row["free_at"], row["now"]),
    )


def seconds_until(instant: int, now: int) -> int:
    """Count whole seconds, at least one, after which the instant has passed."""
    return max(1, ceil((instant - now) / 1_000_000))


async def take(db: Db, bucket: str, limit: int) -> LimitVerdict:
    """Take a place in a bucket's log, if one is free."""
    return read_verdict(await limit_store.take_one(db, bucket, limit), limit)


async def take_many(db: Db, buckets: Sequence[str], limit: int) -> list[LimitVerdict]:
    """Take a place for each of these, in their order; a bucket that is named twice is asked for two."""
    wanted = {bucket: min(places, limit) for bucket, places in Counter(buckets).items()}
    rows = await limit_store.take_some(db, wanted, limit)
    turns: Counter[str] = Counter()
    verdicts = []
    for bucket in buckets:
        turns[bucket] += 1
        verdicts.append(read_verdict(rows[bucket], limit, turn=turns[bucket]))
    return verdicts
