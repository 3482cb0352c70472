"""Run one attempt of one effect, and store its result."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import wraps
from time import monotonic
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar
from uuid import UUID

import asyncpg
import structlog

from openslot import __version__
from openslot.platform.core.actor import SYSTEM, Destination, EffectAttempt
from openslot.platform.core.db import is_unavailable
from openslot.platform.core.effects import (
    EffectEnding,
    Finish,
    finish_effects,
    hand_over_effect,
    hurry,
    postpone_effect,
    put_back_effect,
)
from openslot.platform.core.events import Change, Effect, NewEffect, insert_effects, make_each
from openslot.platform.core.holding import LOOK_AGAIN_AFTER, hold_effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.outages import OUTAGE, is_lost, reason
from openslot.platform.core.work import (
    AskedToWait,
    Done,
    Expanded,
    GiveUp,
    Outcome,
    Reaction,
    Runtime,
    Skipped,
    TryLater,
    Waits,
    Work,
    to_target,
)
from openslot.platform.i18n import keep
from openslot.platform.jobs.places import LONGEST_WISH, FairPlaces, Rejected, hand_over_delay, next_delay

# An attempt that kills the whole process stores no error; only the number of attempts shows it.
CRASHES_ALLOWED = 5
AT_ONCE = timedelta()
# How soon it is tried again to ask the database if it can't be reached, or if its disk is full, or its memory.
REACHED_AGAIN_AFTER, ROOM_AGAIN_AFTER = timedelta(seconds=1), timedelta(seconds=5)
GIVES_UP_AFTER = timedelta(seconds=5)

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()


class Insistence:
    """Until when results that can't be stored are kept: for ever, or for a few seconds when the worker has to stop."""

    def __init__(self) -> None:
        self.ends_at = math.inf

    def begin(self) -> None:
        self.ends_at = math.inf

    def end(self) -> None:
        self.ends_at = min(self.ends_at, monotonic() + GIVES_UP_AFTER.total_seconds())


class Unstored(Exception):
    """A result could not be stored before the worker had to stop; the effect is taken up again."""


def insists(store: Callable[Concatenate[Runtime, P], Awaitable[T]]) -> Callable[Concatenate[Runtime, P], Awaitable[T]]:
    """Store a result again and again while the database can't: what was done must not be done twice."""

    @wraps(store)
    async def insist(runtime: Runtime, /, *args: P.args, **kwargs: P.kwargs) -> T:
        while True:
            try:
                return await store(runtime, *args, **kwargs)
            except Exception as fault:
                if not is_unavailable(fault):
                    raise
                left = runtime.one(Insistence).ends_at - monotonic()
                if left <= 0:
                    raise Unstored(reason(fault)) from fault
                await asyncio.sleep(min(_note_unavailable(fault).total_seconds(), left))

    return insist


def _note_unavailable(fault: Exception) -> timedelta:
    """Tell the log that the database can't be used, and return when to ask it again."""
    if is_lost(fault) or isinstance(fault, asyncpg.ReadOnlySQLTransactionError):
        OUTAGE.mention(fault)
        return REACHED_AGAIN_AFTER
    log.warning("The database has no room; trying again", error=reason(fault))
    return ROOM_AGAIN_AFTER


class UnknownReaction(Exception):
    """A newer version has written an effect that this one can't run."""


async def run_effect(runtime: Runtime, effect: Effect, fair_places: FairPlaces | None = None) -> timedelta | None:
    """Run the reaction of a started effect; schedule another attempt if it fails, or mark it dead after the last one.

    With `fair_places`, an effect that finds no free place is put back without losing an attempt. Returns when there is
    more to do because of it, if there is.
    """
    reaction = runtime.wiring.reaction(effect.reaction)
    structlog.contextvars.bind_contextvars(effect_id=str(effect.id), reaction=effect.reaction)
    if reaction is None:
        return await _hand_over(runtime, effect, UnknownReaction(effect.reaction))
    if effect.attempts > len(reaction.delays) + CRASHES_ALLOWED:
        return await _bury(runtime, effect, "the worker died in too many tries")
    fair_places = fair_places or FairPlaces(count=1)
    next_in = await _run(runtime, effect, reaction, fair_places)
    if called := fair_places.take_called():
        await _call(runtime, called)
        return AT_ONCE
    return next_in


async def _run(runtime: Runtime, effect: Effect, reaction: Reaction, fair_places: FairPlaces) -> timedelta | None:
    try:
        outcome = await _try(runtime, effect, reaction, fair_places)
        if isinstance(outcome, Rejected):
            return await _put_back(runtime, effect, outcome, fair_places)
        return await _settle(runtime, effect, outcome, fair_places)
    except Unstored:
        raise
    except UnknownReaction as unknown:
        return await _hand_over(runtime, effect, unknown)
    except GiveUp as fault:
        return await _bury(runtime, effect, keep(fault.reason))
    except TryLater as fault:
        return await _try_later(runtime, effect, reaction, fault)
    # Any exception of a reaction is a failed attempt, and is stored.
    except Exception as fault:
        log.exception("effect failed")
        return await _try_later(runtime, effect, reaction, TryLater(f"{type(fault).__name__}: {fault}"))


async def _try(runtime: Runtime, effect: Effect, reaction: Reaction, fair_places: FairPlaces) -> Outcome | Rejected:
    """Run the reaction, but only with a free place if it has a destination, and report how it went."""
    work = runtime.work(SYSTEM)
    destination = reaction.destination(work, effect) if reaction.destination else None
    if destination is None:
        return await _react(work, effect, reaction)
    place = fair_places.enter(reaction.name, destination, now=work.now, attempt=EffectAttempt(effect.id, effect.round))
    if isinstance(place, Rejected):
        return place
    answered: bool | None = None
    asked: Rejected | None = None
    try:
        outcome = await _react(work, effect, reaction)
        asked = outcome if isinstance(outcome, Rejected) and outcome.is_asked else None
        answered = True if asked or isinstance(outcome, Done) else None
    except Exception as fault:
        answered = isinstance(fault, TryLater | GiveUp) and fault.answered
        raise
    finally:
        fair_places.leave(place, answered=answered, now=runtime.clock(), asked=asked)
    return outcome


async def _react(work: Work, effect: Effect, reaction: Reaction) -> Outcome | Rejected:
    """Run the reaction; neither a target that asks us to wait nor a database that can't be used makes it fail."""
    try:
        return await reaction.run(work, effect)
    except AskedToWait as busy:
        if work.now - effect.created_at > sum(reaction.delays, timedelta()):
            raise
        return Rejected(keep(busy.reason), min(busy.after, LONGEST_WISH), is_quick=False, is_asked=True)
    except Exception as fault:
        if not is_unavailable(fault):
            raise
        return Rejected(reason(fault), _note_unavailable(fault), is_quick=False)


@insists
async def _call(runtime: Runtime, attempts: Sequence[EffectAttempt]) -> None:
    await hurry(runtime.pool, attempts, now=runtime.clock())


@insists
async def _put_back(runtime: Runtime, effect: Effect, refusal: Rejected, fair_places: FairPlaces) -> timedelta:
    """Let an effect that found no place come again in its turn, or when it is called."""
    async with runtime.transaction(SYSTEM) as work:
        again = await put_back_effect(
            work.db, effect, reason=refusal.reason, delay=refusal.after, now=work.now, yields=not refusal.is_quick
        )
    if again is not None:
        fair_places.wait(refusal, again, now=runtime.clock(), account=effect.tenant_id)
    return refusal.after


class Settlement(NamedTuple):
    """What is stored about an effect that is finished."""

    ending: EffectEnding
    changes: tuple[Change, ...] = ()
    write: Callable[[Work], Awaitable[None]] | None = None
    wanted: tuple[NewEffect, ...] | None = None
    """The effects that it is expanded into; None if it is not."""


async def _settle(runtime: Runtime, effect: Effect, outcome: Outcome, fair_places: FairPlaces) -> timedelta | None:
    match outcome:
        case Waits(channel):
            return await _hold(runtime, effect, channel)
        case Skipped(reason):
            settlement = _end_undone(runtime, effect, "skipped", reason.kept)
        case Done(vendor_id=vendor_id, changes=changes, write=write):
            settlement = Settlement(EffectEnding(effect, "done", vendor_id=vendor_id), changes, write)
        case Expanded():
            return await _expand(runtime, effect, outcome, fair_places)
    return await _store(runtime, settlement)


@insists
async def _hold(runtime: Runtime, effect: Effect, channel: str) -> timedelta:
    """Let an effect wait until its channel is resumed, or come again at once if it has been."""
    async with runtime.transaction(SYSTEM) as work:
        is_held = await hold_effect(work.db, effect, channel, now=work.now)
    return LOOK_AGAIN_AFTER if is_held else AT_ONCE


@insists
async def _store(runtime: Runtime, settlement: Settlement) -> timedelta | None:
    """Finish an effect together with others; alone if it writes something of its own, or if that has failed."""
    finish: Finish | None = None
    if settlement.write is None:
        store_together = store_done if settlement.wanted is None else store_expanded
        with suppress(Exception):
            finish = await runtime.batcher(store_together).ask(settlement)
    if finish is None:
        (finish,) = await store_done(runtime, [settlement])
    return AT_ONCE if finish.has_released or settlement.wanted else None


async def store_done(runtime: Runtime, settlements: Sequence[Settlement]) -> list[Finish]:
    """Finish effects in one transaction, with all that belongs to them."""
    collapsing = {each.name for each in runtime.wiring.reactions if each.collapses}
    async with runtime.transaction(SYSTEM) as work:
        endings = [each.ending for each in settlements]
        finishes = await finish_effects(work.db, endings, now=work.now, collapsing=collapsing)
        first = [each for each, finish in zip(settlements, finishes, strict=True) if finish.is_first]
        await make_each(work.db, (change for each in first for change in each.changes))
        for each in first:
            if each.write is not None:
                await each.write(work)
        await insert_effects(work.db, [new for each in first for new in each.wanted or ()], now=work.now)
    return finishes


async def store_expanded(runtime: Runtime, settlements: Sequence[Settlement]) -> list[Finish]:
    """Finish effects that others take the place of.

    They have batches of their own, which join the lanes of the others after leaving their own. If a batch could both
    leave and join the lanes of expanded effects, two of them could deadlock.
    """
    return await store_done(runtime, settlements)


async def _expand(runtime: Runtime, effect: Effect, outcome: Expanded, fair_places: FairPlaces) -> timedelta | None:
    """Plan an effect for each target; one that would be turned away comes in its turn, or when it is called."""
    wanted: list[NewEffect] = []
    refusals: dict[UUID, Rejected] = {}
    for target in outcome.targets:
        reaction = runtime.wiring.reaction(target.reaction)
        if reaction is None:
            raise UnknownReaction(target.reaction)
        id_ = new_id()
        new = NewEffect(effect.event_id, reaction, target.target, target.lane, parent_id=effect.id, id=id_)
        to = Destination(target.target, effect.tenant_id)
        wait = (
            fair_places.foresee(reaction.name, to, now=runtime.clock()) if reaction.destination is to_target else None
        )
        if wait is not None:
            new = new._replace(yields=True, after=wait.after, reason=wait.reason)
            refusals[id_] = wait
        wanted.append(new)
    ending = EffectEnding(effect, "done")
    next_in = await _store(runtime, Settlement(ending, outcome.changes, wanted=tuple(wanted)))
    for id_, refusal in refusals.items():
        fair_places.wait(refusal, EffectAttempt(id_, round=0), now=runtime.clock(), account=effect.tenant_id)
    return next_in


@insists
async def _try_later(runtime: Runtime, effect: Effect, reaction: Reaction, fault: TryLater) -> timedelta | None:
    delay = next_delay(reaction.delays, effect.attempts, wished=fault.after)
    if delay is None:
        return await _bury(runtime, effect, keep(fault.reason))
    async with runtime.transaction(SYSTEM) as work:
        await postpone_effect(work.db, effect, error=keep(fault.reason)[:1000], delay=delay, now=work.now)
    return delay


@insists
async def _hand_over(runtime: Runtime, effect: Effect, unknown: UnknownReaction) -> timedelta:
    """Leave the effect to a newer worker, as happens during a rollout."""
    log.info("effect left to a newer worker", unknown=str(unknown))
    reason = f"waits for a worker that knows the reaction {unknown}: Openslot {__version__} does not"
    async with runtime.transaction(SYSTEM) as work:
        delay = hand_over_delay(work.now - effect.created_at)
        await hand_over_effect(work.db, effect, reason=reason, delay=delay, now=work.now)
    return delay


async def _bury(runtime: Runtime, effect: Effect, error: str) -> timedelta | None:
    log.warning("effect is dead", error=error)
    return await _store(runtime, _end_undone(runtime, effect, "dead", error[:1000]))


def _end_undone(runtime: Runtime, effect: Effect, state: str, error: str) -> Settlement:
    reaction = runtime.wiring.reaction(effect.reaction)
    follows = reaction.unless_done if reaction else None
    write = (lambda work: follows(work, effect)) if follows else None
    return Settlement(EffectEnding(effect, state, error=error), write=write)
