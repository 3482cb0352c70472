"""Run one attempt of one effect, and store its result."""

from typing import cast

import structlog

from openslot import __version__
from openslot.core.actor import SYSTEM, Destination
from openslot.core.effects import finish_effect, hand_over_effect, postpone_effect, put_back_effect, start_effect
from openslot.core.events import Effect, NewEffect, insert_effects
from openslot.core.queue import Job, Priority, hurry, name_job
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

log = structlog.get_logger()


class UnknownReaction(Exception):
    """A newer version has written an effect that this one can't run."""


async def run_effect(runtime: Runtime, job: Job, gate: Gate | None = None) -> None:
    """Run the reaction of an effect; schedule another attempt if it fails, or mark it dead after the last one.

    With a gate, an effect that finds no free place is put back without losing an attempt.
    """
    effect = await start_effect(runtime.pool, job, now=runtime.clock())
    if effect is None:
        return
    reaction = runtime.wiring.reaction(effect.reaction)
    structlog.contextvars.bind_contextvars(effect_id=str(effect.id), reaction=effect.reaction)
    if reaction is None:
        await _hand_over(runtime, effect, UnknownReaction(effect.reaction))
        return
    if effect.attempts > len(reaction.delays) + CRASHES_ALLOWED:
        await _bury(runtime, effect, reaction, "the worker died in too many tries")
        return
    gate = gate or Gate(places=1)
    try:
        outcome = await _try(runtime, effect, reaction, gate)
        if isinstance(outcome, Rejected):
            await _put_back(runtime, effect, outcome, gate)
        else:
            await _settle(runtime, effect, reaction, outcome, gate)
    except UnknownReaction as unknown:
        await _hand_over(runtime, effect, unknown)
    except GiveUp as fault:
        await _bury(runtime, effect, reaction, str(fault))
    except TryLater as fault:
        await _try_later(runtime, effect, reaction, fault)
    # Any exception of a reaction is a failed attempt, and is stored.
    except Exception as fault:
        log.exception("effect failed")
        await _try_later(runtime, effect, reaction, TryLater(f"{type(fault).__name__}: {fault}"))
    if called := gate.take_called():
        await hurry(runtime.pool, cast("list[Job]", called))


async def _try(runtime: Runtime, effect: Effect, reaction: Reaction, gate: Gate) -> Outcome | Rejected:
    """Run the reaction, but only with a free place if it has a destination, and report to the gate how it went."""
    work = runtime.work(SYSTEM)
    destination = reaction.destination(work, effect) if reaction.destination else None
    if destination is None:
        return await reaction.run(work, effect)
    place = gate.enter(reaction.name, destination, now=work.now, job=name_job(effect.id, effect.round))
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


async def _put_back(runtime: Runtime, effect: Effect, refusal: Rejected, gate: Gate) -> None:
    """Let an effect that found no place come again in its turn, or when it is called."""
    priority = Priority.SOON if refusal.is_quick else Priority.LATER
    async with runtime.transaction(SYSTEM) as work:
        again = await put_back_effect(
            work.db, effect, reason=refusal.reason, delay=refusal.after, now=work.now, priority=priority
        )
    if again is not None:
        gate.wait(refusal, again, now=runtime.clock())


async def _settle(runtime: Runtime, effect: Effect, reaction: Reaction, outcome: Outcome, gate: Gate) -> None:
    async with runtime.transaction(SYSTEM) as work:
        match outcome:
            case Skipped(reason):
                await finish_effect(work.db, effect, "skipped", now=work.now, reaction=reaction, error=reason)
            case Done(vendor_id=vendor_id, write=write):
                first = await finish_effect(
                    work.db, effect, "done", now=work.now, reaction=reaction, vendor_id=vendor_id
                )
                if first and write is not None:
                    await write(work)
            case Expanded(targets, write):
                if await finish_effect(work.db, effect, "done", now=work.now, reaction=reaction):
                    if write is not None:
                        await write(work)
                    wanted = [_expand(work, effect, target, gate) for target in targets]
                    await insert_effects(work.db, wanted, now=work.now, parent_id=effect.id)


def _expand(work: Work, effect: Effect, target: Target, gate: Gate) -> NewEffect:
    """Plan the effect for a target; one that the gate would turn away is scheduled for its turn."""
    reaction = work.runtime.wiring.reaction(target.reaction)
    if reaction is None:
        raise UnknownReaction(target.reaction)
    new = NewEffect(effect.event_id, reaction, target.target, target.lane)
    if reaction.destination is not to_target:
        return new
    wait = gate.foresee(reaction.name, Destination(target.target, effect.tenant_id), now=work.now)
    return new if wait is None else new._replace(priority=Priority.LATER, after=wait.after, reason=wait.reason)


async def _try_later(runtime: Runtime, effect: Effect, reaction: Reaction, fault: TryLater) -> None:
    delay = next_delay(reaction.delays, effect.attempts, wished=fault.after)
    if delay is None:
        await _bury(runtime, effect, reaction, str(fault))
        return
    async with runtime.transaction(SYSTEM) as work:
        await postpone_effect(work.db, effect, error=str(fault)[:1000], delay=delay, now=work.now)


async def _hand_over(runtime: Runtime, effect: Effect, unknown: UnknownReaction) -> None:
    """Leave the effect to a newer worker, as happens during a rollout."""
    log.info("effect left to a newer worker", unknown=str(unknown))
    reason = f"waits for a worker that knows the reaction {unknown}: Openslot {__version__} does not"
    async with runtime.transaction(SYSTEM) as work:
        delay = hand_over_delay(work.now - effect.created_at)
        await hand_over_effect(work.db, effect, reason=reason, delay=delay, now=work.now)


async def _bury(runtime: Runtime, effect: Effect, reaction: Reaction, error: str) -> None:
    log.warning("effect is dead", error=error)
    async with runtime.transaction(SYSTEM) as work:
        await finish_effect(work.db, effect, "dead", now=work.now, reaction=reaction, error=error[:1000])
