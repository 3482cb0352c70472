"""audit …: what agents have called, and whether somebody has tampered with the record of it."""

from typing import Annotated

import typer
from rich.progress import Progress

from openslot.agents.audit import Verified, list_calls, verify
from openslot.agents.models import AuditFilter, CallRecord
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.work import Runtime, Work
from openslot.processes.runtimes import with_runtime, with_work

app = typer.Typer(help="The audit trail of the agents.", no_args_is_help=True, add_completion=False)


@app.command("list")
def list_records(
    *,
    agent: Annotated[str | None, typer.Option(help="Only this agent")] = None,
    tool: Annotated[str | None, typer.Option(help="Only this tool")] = None,
    status: Annotated[str | None, typer.Option(help="Only this status, such as denied_scope")] = None,
    page: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List agents' calls, newest first."""

    async def do(work: Work) -> list[CallRecord]:
        wanted = AuditFilter(agent=agent, tool=tool, status=status)
        return await list_calls(work, wanted, page=page, limit=limit)

    found = with_work(do)
    if as_json:
        print_json({"records": found})
        return
    rows = [(r.at, r.agent, r.tool, r.tier, r.status, r.error_code, r.latency_ms, r.target_id) for r in found]
    columns = ("Time", "Agent", "Tool", "Tier", "Status", "Error", "ms", "Target")
    print_table(columns, rows, nothing="No calls.")


@app.command("verify")
def verify_chain(
    noted: Annotated[
        str | None, typer.Option(help="RECORDS:END of an earlier run: that record must still be there, unchanged")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no record was changed, deleted, reordered or truncated; exits with 1 if one was."""
    wanted = _read_noted(noted) if noted is not None else None

    async def do(runtime: Runtime) -> Verified:
        with Progress(transient=True, disable=as_json or not console.is_terminal) as bar:
            task = bar.add_task("Verifying")
            return await verify(
                runtime, noted=wanted, progress=lambda done, of: bar.update(task, completed=done, total=of)
            )

    found = with_runtime(do)
    _print(found, as_json=as_json)
    if found.faults:
        raise typer.Exit(1)


def _print(found: Verified, *, as_json: bool) -> None:
    if as_json:
        faults = [{"no": each.no, "fault": each.fault} for each in found.faults]
        print_json({"records": found.records, "end": found.end, "intact": not faults, "faults": faults})
        return
    for each in found.faults:
        console.print(f"Record {each.no}: {each.fault}")
    if not found.faults and not found.records:
        console.print("There are no records yet.")
    elif not found.faults:
        console.print(f"{found.records} records, none changed.")
        console.print(f"Save this elsewhere for the next check: --noted {found.records}:{found.end}")


def _read_noted(text: str) -> tuple[int, str]:
    records, _, end = text.partition(":")
    if not records.isdecimal() or not end:
        raise Invalid(details={"noted": "must be RECORDS:END as `audit verify` printed it"})
    return int(records), end
