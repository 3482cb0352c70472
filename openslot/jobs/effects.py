"""Run one try of one effect, and write down what came of it."""

import structlog

from openslot import __version__
from openslot.core.actor import SYSTEM
from openslot.core.effects import (
    NewEffect,
    finish_effect,
    hand_over_effect,
    insert_effects,
    postpone_effect,
    put_back_effect,
    start_effect,
)
from openslot.core.events import Done, Effect, Expanded, GiveUp, Outcome, Reaction, Skipped, TryLater
from openslot.core.queue import Job
from openslot.core.work import Runtime, Work
from openslot.jobs.retry import PutBack, hand_over_delay, next_delay

# A try that takes the whole process down leaves no word behind; only the count of tries tells.
CRASHES_ALLOWED = 5

log = structlog.get_logger()


class UnknownReaction(Exception):  # noqa: N818 - a plan, not a fault of the program
    """A newer version has written what this one can't do."""


async def run_effect(runtime: Runtime, job: Job) -> None:
    """Do what is to be done; a failure is planned again or, after the last try, kept as dead."""
    effect = await start_effect(runtime.pool, job)
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
    try:
        await _settle(runtime, effect, reaction, await reaction.run(runtime.work(SYSTEM), effect))
    except UnknownReaction as unknown:
        await _hand_over(runtime, effect, unknown)
    except GiveUp as fault:
        await _bury(runtime, effect, reaction, str(fault))
    except TryLater as fault:
        await _try_later(runtime, effect, reaction, fault)
    except PutBack as plan:
        async with runtime.transaction(SYSTEM) as work:
            await put_back_effect(work.db, effect, reason=str(plan), delay=plan.after, now=work.now)
    # Whatever a reaction raises is a failed try, and is kept.
    except Exception as fault:
        log.exception("effect failed")
        await _try_later(runtime, effect, reaction, TryLater(f"{type(fault).__name__}: {fault}"))


async def _settle(runtime: Runtime, effect: Effect, reaction: Reaction, outcome: Outcome) -> None:
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
            case Expanded(targets):
                if await finish_effect(work.db, effect, "done", now=work.now, reaction=reaction):
                    wanted = [
                        NewEffect(effect.event_id, _get_reaction(work, t.reaction), t.target, t.lane) for t in targets
                    ]
                    await insert_effects(work.db, wanted, now=work.now, parent_id=effect.id)


async def _try_later(runtime: Runtime, effect: Effect, reaction: Reaction, fault: TryLater) -> None:
    delay = next_delay(reaction.delays, effect.attempts, wished=fault.after)
    if delay is None:
        await _bury(runtime, effect, reaction, str(fault))
        return
    async with runtime.transaction(SYSTEM) as work:
        await postpone_effect(work.db, effect, error=str(fault)[:1000], delay=delay, now=work.now)


async def _hand_over(runtime: Runtime, effect: Effect, unknown: UnknownReaction) -> None:
    """Leave it to a newer worker, as happens while a release is rolled out."""
    log.info("effect left to a newer worker", unknown=str(unknown))
    reason = f"waits for a worker that knows the reaction {unknown}: Openslot {__version__} does not"
    async with runtime.transaction(SYSTEM) as work:
        delay = hand_over_delay(work.now - effect.event_at)
        await hand_over_effect(work.db, effect, reason=reason, delay=delay, now=work.now)


async def _bury(runtime: Runtime, effect: Effect, reaction: Reaction, error: str) -> None:
    log.warning("effect is dead", error=error)
    async with runtime.transaction(SYSTEM) as work:
        await finish_effect(work.db, effect, "dead", now=work.now, reaction=reaction, error=error[:1000])


def _get_reaction(work: Work, name: str) -> Reaction:
    reaction = work.runtime.wiring.reaction(name)
    if reaction is None:
        raise UnknownReaction(name)
    return reaction
