"""A target that refuses what it is told to, and what became of each note."""

from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.events import Effect
from openslot.platform.core.revivals import RevivalVerdict, revive_effects
from openslot.platform.core.work import Done, Outcome, Runtime, Work
from openslot.platform.i18n import say
from tests.platform.jobs.probes import Poked
from tests.support.effects import run_attempt


class Receiver:
    """A target that takes what it is sent, but for what it is told to refuse."""

    def __init__(self) -> None:
        self.refuses: set[str] = set()
        self.got: list[str] = []

    async def take(self, work: Work, effect: Effect) -> Outcome:
        """Take a note, or fail."""
        del work
        note = effect.event(Poked).note
        if note in self.refuses:
            raise RuntimeError(f"no {note}, thanks")
        self.got.append(note)
        return Done()


async def effects(runtime: Runtime) -> dict[str, str]:
    """Tell each note's state."""
    rows = await runtime.pool.fetch(
        """select v.fact::jsonb ->> 'note' as note, f.state from effects f join events v on v.id = f.event_id
        order by f.no"""
    )
    return {row["note"]: row["state"] for row in rows}


async def job_of(runtime: Runtime, note: str) -> EffectAttempt:
    row = await runtime.pool.fetchrow(
        "select f.id, f.round from effects f join events v on v.id = f.event_id where v.fact::jsonb ->> 'note' = $1",
        note,
    )
    assert row is not None
    return EffectAttempt(row["id"], row["round"])


async def run(runtime: Runtime, note: str) -> None:
    await run_attempt(runtime, await job_of(runtime, note))


async def is_due(runtime: Runtime, note: str) -> bool:
    job = await job_of(runtime, note)
    is_due: bool = await runtime.pool.fetchval(
        "select state = 'queued' and next_try_at <= now() from effects where id = $1", job.effect_id
    )
    return is_due


async def run_all(runtime: Runtime) -> None:
    """Run whatever is queued, one after the other, until nothing is."""
    while rows := await runtime.pool.fetch(
        "select id, round from effects where state = 'queued' order by next_try_at, no"
    ):
        for row in rows:
            await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))


async def retry(runtime: Runtime, *notes: str) -> list[tuple[RevivalVerdict, str | None]]:
    """Retry some, or all."""
    chosen = [(await job_of(runtime, note)).effect_id for note in notes] or None
    told = await revive_effects(runtime.work(OPERATOR), chosen)
    return [(revival.verdict, revival.reason) for revival in told]


async def error_of(runtime: Runtime, note: str) -> str:
    error: str = await runtime.pool.fetchval(
        "select last_error from effects where id = $1", (await job_of(runtime, note)).effect_id
    )
    return say(error)


async def is_counted_right(runtime: Runtime) -> bool:
    wrong = await runtime.pool.fetchval(
        """select count(*) from lanes l where unfinished <> (
            select count(*) from effects f where f.lane = l.lane and f.state in ('waiting', 'queued', 'running'))"""
    )
    return bool(wrong == 0)
