"""Shares the look-ups of one process fairly between owners, and remembers which names fail."""

import asyncio
import time
from collections.abc import Callable
from enum import Enum
from typing import TypeVar
from uuid import UUID

from msgspec import Struct, field

from openslot.platform.core.outbound.resolver import Resolver
from openslot.platform.core.outbound.targets import Address

Key = TypeVar("Key")
Item = TypeVar("Item")

# An answer within this time is quick. A look-up that takes longer counts as hanging until it ends.
QUICK_SECONDS = 1.0
SUSPECT_SECONDS = 300.0
# A webhook is tried again 5 seconds after its first failure: the name is asked for again then.
FIRST_FAILURE_SECONDS = 4.0
LONGEST_FAILURE_SECONDS = 30.0
MAX_REMEMBERED = 10_000


class Share(Enum):
    """The part of the places that a look-up takes one from."""

    QUICK = "names that were resolved quickly the last time"
    NEW = "all other names"
    SUSPECT = "all other names of owners with a look-up that hangs now, or hung in vain lately"


PLACES = {Share.QUICK: 96, Share.NEW: 64, Share.SUSPECT: 32}
OF_ONE_OWNER = {Share.QUICK: 4, Share.NEW: 2, Share.SUSPECT: 1}
QUICK_OF_ONE_SUSPECT = 2
# More than the shares together, because look-ups that hang keep their places while others take those that they leave.
MOST = 400


class RecentlyFailed(OSError):
    """The name could not be resolved a moment ago, so nobody was asked."""


class KnownName(Struct):
    """What is known about a name from the last look-ups."""

    is_quick: bool = False
    failures: int = 0
    failing_until: float = 0.0


class LookUpOwner(Struct):
    """How many look-ups of one owner are under way, by share, and when one last hung in vain."""

    inside: dict[Share, int] = field(default_factory=lambda: dict.fromkeys(Share, 0))
    hanging: int = 0
    suspect_until: float = 0.0


class LookUpPlace(Struct, eq=False):
    owner_id: UUID | None
    owner: LookUpOwner
    share: Share
    timer: asyncio.TimerHandle | None = None
    is_hanging: bool = False


class WaitingLookUp(Struct, eq=False):
    host: str
    owner_id: UUID | None
    place: "asyncio.Future[LookUpPlace]"


class LookUps:
    """Gives each look-up a place until it has really ended.

    Names that were resolved quickly the last time have places of their own. All other names share the rest, and a
    look-up that hangs moves to the share of the suspect, so that names which are never answered can't take the places
    of others.
    """

    def __init__(self, resolver: Resolver, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._resolver = resolver
        self._clock = clock
        self._names: dict[str, KnownName] = {}
        self._owners: dict[UUID | None, LookUpOwner] = {}
        self._inside = dict.fromkeys(Share, 0)
        self._waiting: list[WaitingLookUp] = []
        self._under_way: set[asyncio.Timeout] = set()

    async def resolve(self, host: str, *, owner_id: UUID | None) -> tuple[Address, ...]:
        """Return all addresses of the name, best first, or raise OSError; no owner stands for the operator."""
        async with asyncio.timeout(None) as until_closed:
            self._under_way.add(until_closed)
            try:
                return await self._resolve(host, owner_id)
            finally:
                self._under_way.remove(until_closed)

    def close(self) -> None:
        """End all look-ups that are under way, as if their time were over."""
        for each in self._under_way:
            each.reschedule(asyncio.get_running_loop().time())

    async def _resolve(self, host: str, owner_id: UUID | None) -> tuple[Address, ...]:
        self._check_name(host)
        place = await self._enter(host, owner_id)
        is_resolved = False
        try:
            # Others may have asked for the same name while this one was waiting.
            self._check_name(host)
            addresses = await self._resolver.resolve(host)
            is_resolved = True
        except RecentlyFailed:
            raise
        except (OSError, UnicodeError):
            self._keep_failure(host)
            raise
        finally:
            self._leave(place, is_resolved=is_resolved)
        self._keep_success(host, is_quick=not place.is_hanging)
        return addresses

    def _check_name(self, host: str) -> None:
        if self._get_name(host).failing_until > self._clock():
            raise RecentlyFailed(f"{host} could not be resolved a moment ago")

    async def _enter(self, host: str, owner_id: UUID | None) -> LookUpPlace:
        place = self._take(host, owner_id)
        if place is not None:
            return place
        waiting = WaitingLookUp(host, owner_id, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            return await waiting.place
        except asyncio.CancelledError:
            if waiting.place.done() and not waiting.place.cancelled():
                self._leave(waiting.place.result(), is_resolved=False)
            raise
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _take(self, host: str, owner_id: UUID | None) -> LookUpPlace | None:
        owner = self._owners.get(owner_id) or LookUpOwner()
        is_suspect = owner.hanging > 0 or owner.suspect_until > self._clock()
        other = Share.SUSPECT if is_suspect else Share.NEW
        share = Share.QUICK if self._get_name(host).is_quick else other
        max_ = QUICK_OF_ONE_SUSPECT if is_suspect and share is Share.QUICK else OF_ONE_OWNER[share]
        is_full = self._inside[share] >= PLACES[share] or sum(self._inside.values()) >= MOST
        if is_full or owner.inside[share] >= max_:
            return None
        place = LookUpPlace(owner_id, owner, share)
        self._count(place, +1)
        _remember(self._owners, owner_id, owner, is_needed=lambda each: any(each.inside.values()))
        place.timer = asyncio.get_running_loop().call_later(QUICK_SECONDS, self._notice_hanging, place)
        return place

    def _leave(self, place: LookUpPlace, *, is_resolved: bool) -> None:
        if place.timer is not None:
            place.timer.cancel()
        self._count(place, -1)
        if place.is_hanging and not is_resolved:
            place.owner.suspect_until = self._clock() + SUSPECT_SECONDS
        if not any(place.owner.inside.values()) and place.owner.suspect_until <= self._clock():
            self._owners.pop(place.owner_id, None)
        self._admit_waiting()

    def _notice_hanging(self, place: LookUpPlace) -> None:
        self._count(place, -1)
        place.is_hanging, place.share = True, Share.SUSPECT
        self._count(place, +1)
        self._admit_waiting()

    def _count(self, place: LookUpPlace, change: int) -> None:
        self._inside[place.share] += change
        place.owner.inside[place.share] += change
        place.owner.hanging += change * place.is_hanging

    def _admit_waiting(self) -> None:
        """Give the places that are free to those who wait, whoever came first."""
        for waiting in tuple(self._waiting):
            if waiting.place.done():
                continue
            place = self._take(waiting.host, waiting.owner_id)
            if place is not None:
                self._waiting.remove(waiting)
                waiting.place.set_result(place)

    def _get_name(self, host: str) -> KnownName:
        return self._names.get(host) or KnownName()

    def _keep_success(self, host: str, *, is_quick: bool) -> None:
        _remember(self._names, host, KnownName(is_quick=is_quick))

    def _keep_failure(self, host: str) -> None:
        failures = self._get_name(host).failures + 1
        # Doubled with each failure in a row; the exponent is limited because names may fail for years.
        seconds = min(FIRST_FAILURE_SECONDS * 2 ** min(failures - 1, 10), LONGEST_FAILURE_SECONDS)
        _remember(self._names, host, KnownName(failures=failures, failing_until=self._clock() + seconds))


def _remember(
    known: dict[Key, Item], key: Key, item: Item, *, is_needed: Callable[[Item], bool] = lambda _: False
) -> None:
    """Keep the item as the newest, and forget the oldest that is not needed if there are too many."""
    known.pop(key, None)
    known[key] = item
    if len(known) > MAX_REMEMBERED:
        forgotten = next((each for each in known.items() if not is_needed(each[1])), None)
        if forgotten is not None:
            del known[forgotten[0]]
