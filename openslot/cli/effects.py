"""effect …: what was to be done and could not be."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from msgspec import Struct

from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.cli.running import with_work
from openslot.core.effects import revive_effect
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.work import Work

app = typer.Typer(help="Effects that are not done.", no_args_is_help=True, add_completion=False)

UNFINISHED = """
select id, reaction, target, state, attempts, next_try_at, last_error from effects
where state in ('waiting', 'queued', 'running', 'dead') and ($1::text is null or state = $1)
order by no desc limit $2"""


class ShownEffect(Struct, frozen=True, kw_only=True, rename="camel"):
    """An unfinished effect as scripts see it."""

    id: UUID
    reaction: str
    target: str | None
    state: str
    attempts: int
    next_try_at: datetime
    last_error: str | None


@app.command("list")
def list_effects(
    state: Annotated[str | None, typer.Option(help="waiting, queued, running or dead")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List effects that are not done, newest first."""

    async def do(work: Work) -> list[ShownEffect]:
        return [ShownEffect(**row) for row in await work.db.fetch(UNFINISHED, state, limit)]

    found = with_work(do)
    if as_json:
        print_json({"effects": found})
        return
    rows = [(e.id, e.reaction, e.target, e.state, e.attempts, e.last_error) for e in found]
    print_table(("Id", "Reaction", "Target", "State", "Tries", "Last error"), rows, nothing="Everything is done.")


@app.command("retry")
def retry_effects(
    effect_id: Annotated[str | None, typer.Argument(help="A dead effect's id, as `effect list` shows it")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every dead effect")] = False,
    as_json: AsJson = False,
) -> None:
    """Give dead effects a fresh set of tries."""

    async def do(work: Work) -> int:
        chosen = [parse_id(effect_id)] if effect_id else await _dead(work)
        return sum([await revive_effect(work.db, one, now=work.now) for one in chosen])

    if (effect_id is None) != every:
        raise Invalid("Name one effect, or --all")
    revived = with_work(do)
    if as_json:
        print_json({"revived": revived})
        return
    console.print(f"{revived} effect{'' if revived == 1 else 's'} will be tried again.")


async def _dead(work: Work) -> list[UUID]:
    return [row["id"] for row in await work.db.fetch("select id from effects where state = 'dead' order by no")]
