"""effect …: what was to be done and could not be."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer
from msgspec.structs import replace

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.revivals import Revival, RevivalVerdict, revive_effects
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import say
from openslot.platform.jobs.health import UnfinishedState, list_unfinished

app = group("Effects that are not finished.")


@command(app, "list")
async def list_effects(
    work: Work,
    state: Annotated[UnfinishedState | None, typer.Option(help="Only effects in this state")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
) -> Answer:
    """List effects that are not finished, newest first."""
    found = [
        replace(each, last_error=say(each.last_error) if each.last_error else None)
        for each in await list_unfinished(work.db, state, limit=limit)
    ]
    rows = [(e.id, e.reaction, e.target or e.key, e.state, e.attempts, e.next_try_at, e.last_error) for e in found]
    columns = ("Id", "Reaction", "Target or key", "State", "Tries", "Due", "Last error")
    shown = [pick(effect, "id reaction target key state attempts next_try_at last_error") for effect in found]
    return Answer({"effects": shown}, TableRows(columns, rows, "Every effect is finished."))


@command(app, "retry")
async def retry_effects(
    runtime: Runtime,
    effect_id: Annotated[str | None, typer.Argument(help="Id of a dead effect, from `effect list`")] = None,
    every: Annotated[bool, typer.Option("--all", help="Retry every dead effect")] = False,
) -> Answer:
    """Retry dead effects, except those that a later effect has replaced."""
    if (effect_id is None) != every:
        raise Invalid("Specify an effect id or --all")
    revivals = await revive_effects(runtime.work(OPERATOR), [parse_id(effect_id)] if effect_id else None)
    if effect_id and not revivals:
        raise Invalid("No dead effect has this id")
    verdicts = Counter(revival.verdict for revival in revivals)
    shown = {
        "revived": verdicts[RevivalVerdict.QUEUED],
        "skipped": verdicts[RevivalVerdict.SKIPPED],
        "left": verdicts[RevivalVerdict.LEFT],
        "reasons": Counter(revival.reason.said for revival in revivals if revival.reason is not None),
    }
    return Answer(shown, "\n".join(_describe(revivals)))


def _describe(revivals: list[Revival]) -> Iterator[str]:
    by_outcome = Counter((revival.verdict, revival.reason and revival.reason.said) for revival in revivals)
    yield f"{_effects(by_outcome.pop((RevivalVerdict.QUEUED, None), 0))} will be tried again."
    for (verdict, reason), count in by_outcome.items():
        left = "left as they are" if count > 1 else "left as it is"
        outcome = "skipped" if verdict is RevivalVerdict.SKIPPED else left
        yield f"{_effects(count)} {'was' if count == 1 else 'were'} {outcome}: {reason}."


def _effects(count: int) -> str:
    return f"{count} effect{'' if count == 1 else 's'}"
