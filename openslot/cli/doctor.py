"""doctor: what is wrong with this installation, and the command that fixes it."""

import asyncio
import sys
from collections import Counter

import typer

from openslot.cli.output import Answer, AsJson, console, show
from openslot.domains.doctor.finding import Finding, FindingState, find_worst, ok, problem, warning
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError

app = typer.Typer(add_completion=False)

COLORS = {FindingState.OK: "green", FindingState.WARNING: "yellow", FindingState.PROBLEM: "red"}


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check everything and report what is wrong. Exits with 1 if there is a problem."""
    findings = examine()
    counted = Counter(finding.state for finding in findings)
    worst = find_worst(findings)
    if as_json:
        show(Answer({"state": worst, "findings": findings}, ""), as_json=True)
    else:
        _show(findings, counted)
    sys.exit(1 if worst is FindingState.PROBLEM else 0)


def examine() -> list[Finding]:
    """Check settings, machine and database, in this order; each needs the one before."""
    from openslot.domains.doctor.machine import find_unknown_variables, look_at_machine
    from openslot.processes.environment import settings
    from openslot.vendors.smtp import SmtpServers

    findings = [find_unknown_variables()]
    try:
        chosen = settings()
    except StartupError as fault:
        fix = "Correct it in the environment or in .env, then: openslot doctor"
        return [problem("settings", str(fault), fix), *findings]
    return [
        ok("settings", "All settings can be read."),
        *findings,
        *look_at_machine(chosen, SmtpServers()),
        *_look_inside(chosen),
    ]


def _look_inside(chosen: Settings) -> list[Finding]:
    """Check the database; an embedded one that is not running is started and stopped again."""
    from openslot.domains.doctor.database import look_at_database
    from openslot.platform.core.embedded import find_server, has_cluster, has_owner
    from openslot.processes.environment import database
    from openslot.wiring import WIRING

    is_embedded = chosen.database_url is None
    if is_embedded and not has_cluster(chosen.data_dir):
        return [warning("database", "There is no database yet; the first start creates it.", "openslot serve")]
    is_asleep = is_embedded and find_server(chosen.data_dir) is None
    try:
        with database(chosen) as ready:
            return asyncio.run(look_at_database(ready, WIRING, is_asleep=is_asleep))
    except StartupError as fault:
        fix = "See postgres.log in the data directory" if is_embedded else "Correct DATABASE_URL, or start the server"
        is_tried_on = is_embedded and has_owner(chosen.data_dir)
        trying = " openslot serve is running and keeps trying to start it." if is_tried_on else ""
        return [problem("database", f"{fault}{trying}", fix)]


def _show(findings: list[Finding], counted: Counter[FindingState]) -> None:
    for finding in findings:
        console.print(f"{finding.state:<8}", style=COLORS[finding.state], end="")
        console.print(f" {finding.name:<16} {finding.meaning}")
        if finding.fix is not None:
            console.print(f"{'':<26}{finding.fix}", style="bold")
    counts = [
        f"{counted[state]} {state}{'s' if counted[state] > 1 else ''}"
        for state in (FindingState.PROBLEM, FindingState.WARNING)
    ]
    rest = [words for words in counts if not words.startswith("0")]
    console.print("\n" + (", ".join(rest) + "." if rest else "Everything is in order."))
