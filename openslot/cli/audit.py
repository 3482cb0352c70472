"""audit …: what agents have called, and whether somebody has tampered with the record of it."""

from typing import Annotated

import typer
from rich.progress import Progress

from openslot.cli.command import Limit, PageNumber, command, group
from openslot.cli.output import Answer, TableRows, console
from openslot.doors.agents.audit.operations import Verified, list_audited_calls, verify
from openslot.doors.agents.models import AuditFilter
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime, Work

app = group("The audit trail of the agents.")


@command(app, "list")
async def list_records(
    work: Work,
    *,
    agent: Annotated[str | None, typer.Option(help="Only this agent")] = None,
    tool: Annotated[str | None, typer.Option(help="Only this tool")] = None,
    status: Annotated[str | None, typer.Option(help="Only this status, such as denied_scope")] = None,
    page: PageNumber = 1,
    limit: Limit = 100,
) -> Answer:
    """List agents' calls, newest first."""
    wanted = AuditFilter(agent=agent, tool=tool, status=status)
    found = await list_audited_calls(work, wanted, page=page, limit=limit)
    rows = [(r.at, r.agent, r.tool, r.tier, r.status, r.error_code, r.latency_ms, r.target_id) for r in found]
    columns = ("Time", "Agent", "Tool", "Tier", "Status", "Error", "ms", "Target")
    return Answer({"records": found}, TableRows(columns, rows, "No calls."))


@command(app, "verify")
async def verify_chain(
    runtime: Runtime,
    noted: Annotated[
        str | None, typer.Option(help="RECORDS:END of an earlier run: that record must still be there, unchanged")
    ] = None,
) -> Answer:
    """Check that no record was changed, deleted, reordered or truncated; exits with 1 if one was."""
    wanted = _read_noted(noted) if noted is not None else None
    with Progress(transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Verifying")
        found = await verify(
            runtime, noted=wanted, progress=lambda done, of: bar.update(task, completed=done, total=of)
        )
    faults = [{"no": each.no, "fault": each.fault} for each in found.faults]
    shown = {"records": found.records, "end": found.end, "intact": not faults, "faults": faults}
    return Answer(shown, _describe(found), exit_code=1 if faults else 0)


def _describe(found: Verified) -> str:
    if found.faults:
        return "\n".join(f"Record {each.no}: {each.fault}" for each in found.faults)
    if not found.records:
        return "There are no records yet."
    noted = f"Save this elsewhere for the next check: --noted {found.records}:{found.end}"
    return f"{found.records} records, none changed.\n{noted}"


def _read_noted(text: str) -> tuple[int, str]:
    records, _, end = text.partition(":")
    if not records.isdecimal() or not end:
        raise Invalid(details={"noted": "must be RECORDS:END as `audit verify` printed it"})
    return int(records), end
