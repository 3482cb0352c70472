"""Run one attempt of one effect, and store its result."""

from datetime import timedelta

import structlog

from openslot import __version__
from openslot.core.actor import SYSTEM, Destination, EffectAttempt
from openslot.core.effects import (
    finish_effect,
    hand_over_effect,
    hurry,
    postpone_effect,
    put_back_effect,
)
from openslot.core.events import Effect, NewEffect, insert_effects
from openslot.core.work import (
    Done,
    Expanded,
    GiveUp,
    Outcome,
    Reaction,
    Runtime,
    Skipped,
    Target,
    TryLater,
    Work,
    to_target,
)
from openslot.jobs.gate import Gate, Rejected, hand_over_delay, next_delay

# An attempt that kills the whole process stores no error; only the number of attempts shows it.
CRASHES_ALLOWED = 5
AT_ONCE = timedelta()

log = structlog.get_logger()


class UnknownReaction(Exception):
    """A newer version has written an effect that this one can't run."""


async def run_effect(runtime: Runtime, effect: Effect, gate: Gate | None = None) -> timedelta | None:
    """Run the reaction of a started effect; schedule another attempt if it fails, or mark it dead after the last one.

    With a gate, an effect that finds no free place is put back without losing an attempt. Returns when there is more
    to do because of it, if there is.
    """
    reaction = runtime.wiring.reaction(effect.reaction)
    structlog.contextvars.bind_contextvars(effect_id=str(effect.id), reaction=effect.reaction)
    if reaction is None:
        return await _hand_over(runtime, effect, UnknownReaction(effect.reaction))
    if effect.attempts > len(reaction.delays) + CRASHES_ALLOWED:
        return await _bury(runtime, effect, reaction, "the worker died in too many tries")
    gate = gate or Gate(places=1)
    next_in = await _run(runtime, effect, reaction, gate)
    if called := gate.take_called():
        await hurry(runtime.pool, called, now=runtime.clock())
        return AT_ONCE
    return next_in


async def _run(runtime: Runtime, effect: Effect, reaction: Reaction, gate: Gate) -> timedelta | None:
    try:
        outcome = await _try(runtime, effect, reaction, gate)
        if isinstance(outcome, Rejected):
            return await _put_back(runtime, effect, outcome, gate)
        return await _settle(runtime, effect, reaction, outcome, gate)
    except UnknownReaction as unknown:
        return await _hand_over(runtime, effect, unknown)
    except GiveUp as fault:
        return await _bury(runtime, effect, reaction, str(fault))
    except TryLater as fault:
        return await _try_later(runtime, effect, reaction, fault)
    # Any exception of a reaction is a failed attempt, and is stored.
    except Exception as fault:
        log.exception("effect failed")
        return await _try_later(runtime, effect, reaction, TryLater(f"{type(fault).__name__}: {fault}"))


async def _try(runtime: Runtime, effect: Effect, reaction: Reaction, gate: Gate) -> Outcome | Rejected:
    """Run the reaction, but only with a free place if it has a destination, and report to the gate how it went."""
    work = runtime.work(SYSTEM)
    destination = reaction.destination(work, effect) if reaction.destination else None
    if destination is None:
        return await reaction.run(work, effect)
    place = gate.enter(reaction.name, destination, now=work.now, attempt=EffectAttempt(effect.id, effect.round))
    if isinstance(place, Rejected):
        return place
    answered: bool | None = None
    try:
        outcome = await reaction.run(work, effect)
        answered = True if isinstance(outcome, Done) else None
    except Exception as fault:
        answered = isinstance(fault, TryLater | GiveUp) and fault.answered
        raise
    finally:
        gate.leave(place, answered=answered, now=runtime.clock())
    return outcome


async def _put_back(runtime: Runtime, effect: Effect, refusal: Rejected, gate: Gate) -> timedelta:
    """Let an effect that found no place come again in its turn, or when it is called."""
    async with runtime.transaction(SYSTEM) as work:
        again = await put_back_effect(
            work.db, effect, reason=refusal.reason, delay=refusal.after, now=work.now, yields=not refusal.is_quick
        )
    if again is not None:
        gate.wait(refusal, again, now=runtime.clock())
    return refusal.after


async def _settle(
    runtime: Runtime, effect: Effect, reaction: Reaction, outcome: Outcome, gate: Gate
) -> timedelta | None:
    async with runtime.transaction(SYSTEM) as work:
        match outcome:
            case Skipped(reason):
                finish = await finish_effect(work.db, effect, "skipped", now=work.now, reaction=reaction, error=reason)
                return AT_ONCE if finish.has_released else None
            case Done(vendor_id=vendor_id, write=write):
                targets: tuple[Target, ...] = ()
            case Expanded(targets, write):
                vendor_id = None
        finish = await finish_effect(work.db, effect, "done", now=work.now, reaction=reaction, vendor_id=vendor_id)
        if finish.is_first and write is not None:
            await write(work)
        if finish.is_first and targets:
            wanted = [_expand(work, effect, target, gate) for target in targets]
            await insert_effects(work.db, wanted, now=work.now, parent_id=effect.id)
        return AT_ONCE if finish.has_released or targets else None


def _expand(work: Work, effect: Effect, target: Target, gate: Gate) -> NewEffect:
    """Plan the effect for a target; one that the gate would turn away is scheduled for its turn."""
    reaction = work.runtime.wiring.reaction(target.reaction)
    if reaction is None:
        raise UnknownReaction(target.reaction)
    new = NewEffect(effect.event_id, reaction, target.target, target.lane)
    if reaction.destination is not to_target:
        return new
    wait = gate.foresee(reaction.name, Destination(target.target, effect.tenant_id), now=work.now)
    return new if wait is None else new._replace(yields=True, after=wait.after, reason=wait.reason)


async def _try_later(runtime: Runtime, effect: Effect, reaction: Reaction, fault: TryLater) -> timedelta | None:
    delay = next_delay(reaction.delays, effect.attempts, wished=fault.after)
    if delay is None:
        return await _bury(runtime, effect, reaction, str(fault))
    async with runtime.transaction(SYSTEM) as work:
        await postpone_effect(work.db, effect, error=str(fault)[:1000], delay=delay, now=work.now)
    return delay


async def _hand_over(runtime: Runtime, effect: Effect, unknown: UnknownReaction) -> timedelta:
    """Leave the effect to a newer worker, as happens during a rollout."""
    log.info("effect left to a newer worker", unknown=str(unknown))
    reason = f"waits for a worker that knows the reaction {unknown}: Openslot {__version__} does not"
    async with runtime.transaction(SYSTEM) as work:
        delay = hand_over_delay(work.now - effect.created_at)
        await hand_over_effect(work.db, effect, reason=reason, delay=delay, now=work.now)
    return delay


async def _bury(runtime: Runtime, effect: Effect, reaction: Reaction, error: str) -> timedelta | None:
    log.warning("effect is dead", error=error)
    async with runtime.transaction(SYSTEM) as work:
        finish = await finish_effect(work.db, effect, "dead", now=work.now, reaction=reaction, error=error[:1000])
    return AT_ONCE if finish.has_released else None
