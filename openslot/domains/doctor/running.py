"""The doctor's checks of an installation that runs, from inside one of its processes."""

import asyncio

from openslot.domains.doctor.database import look_at_database
from openslot.domains.doctor.finding import Finding, problem
from openslot.domains.doctor.machine import look_at_machine
from openslot.domains.mail.ports import MailServers
from openslot.platform.core.errors import StartupError
from openslot.platform.core.work import Runtime


async def examine_running(runtime: Runtime) -> list[Finding]:
    """Check machine and database, without changing anything."""
    settings, servers = runtime.settings, runtime.ports.get(MailServers)
    findings = await asyncio.to_thread(lambda: list(look_at_machine(settings, servers)))
    try:
        return findings + await look_at_database(settings, runtime.wiring, is_asleep=False)
    except StartupError as fault:
        return [*findings, problem("database", str(fault), "Correct DATABASE_URL, or start the server")]
