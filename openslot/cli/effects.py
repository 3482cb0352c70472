"""effect …: what was to be done and could not be."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from msgspec import Struct, convert

from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.actor import OPERATOR
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.revivals import Revival, RevivalVerdict, revive_effects
from openslot.core.work import Runtime, Work
from openslot.jobs.health import UnfinishedState, list_unfinished
from openslot.processes.runtimes import with_runtime, with_work

app = typer.Typer(help="Effects that are not finished.", no_args_is_help=True, add_completion=False)


class ShownEffect(Struct, frozen=True, kw_only=True, rename="camel"):
    """An unfinished effect as scripts see it."""

    id: UUID
    reaction: str
    target: str | None
    key: str | None
    state: str
    attempts: int
    next_try_at: datetime
    last_error: str | None


@app.command("list")
def list_effects(
    state: Annotated[UnfinishedState | None, typer.Option(help="Only effects in this state")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List effects that are not finished, newest first."""

    async def do(work: Work) -> list[ShownEffect]:
        return [
            convert(effect, ShownEffect, from_attributes=True)
            for effect in await list_unfinished(work.db, state, limit=limit)
        ]

    found = with_work(do)
    if as_json:
        print_json({"effects": found})
        return
    rows = [(e.id, e.reaction, e.target or e.key, e.state, e.attempts, e.next_try_at, e.last_error) for e in found]
    columns = ("Id", "Reaction", "Target or key", "State", "Tries", "Due", "Last error")
    print_table(columns, rows, nothing="Every effect is finished.")


@app.command("retry")
def retry_effects(
    effect_id: Annotated[str | None, typer.Argument(help="Id of a dead effect, from `effect list`")] = None,
    every: Annotated[bool, typer.Option("--all", help="Retry every dead effect")] = False,
    as_json: AsJson = False,
) -> None:
    """Retry dead effects, except those that a later effect has replaced."""
    if (effect_id is None) != every:
        raise Invalid("Specify an effect id or --all")
    chosen = [parse_id(effect_id)] if effect_id else None

    async def do(runtime: Runtime) -> list[Revival]:
        return await revive_effects(runtime.work(OPERATOR), chosen)

    revivals = with_runtime(do)
    if chosen and not revivals:
        raise Invalid("No dead effect has this id")
    if as_json:
        print_json(_show_revivals(revivals))
        return
    for line in _describe_revivals(revivals):
        console.print(line)


class ShownRevivals(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a retry came to, as scripts see it."""

    revived: int
    skipped: int
    left: int
    reasons: dict[str, int]


def _show_revivals(revivals: list[Revival]) -> ShownRevivals:
    verdicts = Counter(revival.verdict for revival in revivals)
    return ShownRevivals(
        revived=verdicts[RevivalVerdict.QUEUED],
        skipped=verdicts[RevivalVerdict.SKIPPED],
        left=verdicts[RevivalVerdict.LEFT],
        reasons=dict(Counter(revival.reason for revival in revivals if revival.reason is not None)),
    )


def _describe_revivals(revivals: list[Revival]) -> Iterator[str]:
    by_outcome = Counter((revival.verdict, revival.reason) for revival in revivals)
    yield f"{_effects(by_outcome.pop((RevivalVerdict.QUEUED, None), 0))} will be tried again."
    for (verdict, reason), count in by_outcome.items():
        outcome = (
            "skipped" if verdict is RevivalVerdict.SKIPPED else "left as they are" if count > 1 else "left as it is"
        )
        yield f"{_effects(count)} {'was' if count == 1 else 'were'} {outcome}: {reason}."


def _effects(count: int) -> str:
    return f"{count} effect{'' if count == 1 else 's'}"
