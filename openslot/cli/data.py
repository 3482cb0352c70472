"""migrate and seed: what is in the database."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from openslot.cli.output import Answer, AsJson, show
from openslot.processes.environment import settings

if TYPE_CHECKING:
    from openslot.platform.core.work import Runtime

HOSTS, BOOKINGS = 1_000, 100_000

app = typer.Typer(add_completion=False)


@app.command()
def migrate(as_json: AsJson = False) -> None:
    """Apply the migrations that are missing."""
    from openslot.platform.core.log import set_up_logging
    from openslot.platform.core.migrate import bring_up_to_date, direct_url
    from openslot.processes.environment import database

    chosen = settings()
    set_up_logging(chosen)
    with database(chosen) as ready:
        applied = asyncio.run(bring_up_to_date(direct_url(ready)))
    text = "\n".join(f"Applied {name}" for name in applied) or "The database is up to date."
    show(Answer({"applied": applied}, text), as_json=as_json)


@app.command()
def seed(
    large: Annotated[bool, typer.Option("--large", help="Add 1,000 hosts with 100,000 bookings as well")] = False,
    as_json: AsJson = False,
) -> None:
    """Create demo data: the same people every time, new keys, nothing deleted."""
    from openslot.demo.seed import seed as make
    from openslot.platform.core.migrate import fill_empty
    from openslot.processes.first_start import sign_in_lines
    from openslot.processes.runtimes import with_runtime, with_work

    seeded = with_work(make, prepare=fill_empty)
    if large:
        with_runtime(_make_large)
    show(Answer(seeded, "\n".join(sign_in_lines(msgspec.to_builtins(seeded)))), as_json=as_json)


async def _make_large(runtime: "Runtime") -> None:
    from openslot.demo.large import make_large
    from openslot.platform.core.progress import progress

    with progress("Hosts and bookings", total=HOSTS + BOOKINGS) as advance:
        async with runtime.pool.acquire() as connection:
            await make_large(connection, hosts=HOSTS, bookings=BOOKINGS, now=runtime.clock(), progress=advance)
