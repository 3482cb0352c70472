"""The doctor's checks of the database: server, schema, clock, workers, effects, periodic jobs and accounts."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import asyncpg

from openslot.domains.accounts.store import count_users
from openslot.domains.bookings.operations import list_without_time
from openslot.domains.doctor.finding import Finding, FindingState, ok, problem, warning
from openslot.domains.messaging.connections.store import list_failing_numbers
from openslot.domains.payments.connections.store import list_failing
from openslot.domains.teams.ledger.store import count_wrong_credits
from openslot.platform.core.config import Settings
from openslot.platform.core.connecting import hide_password
from openslot.platform.core.db import Db
from openslot.platform.core.errors import StartupError
from openslot.platform.core.migrate import (
    ahead_migrations,
    connect,
    describe_ahead,
    direct_url,
    missing_migrations,
    read_clock,
)
from openslot.platform.core.profiles import request_profile
from openslot.platform.core.reading import AHEAD, BOUND, FAULTS, describe, find_fault, make_standby_pool, measure_lag
from openslot.platform.core.sealing import opens_all
from openslot.platform.core.secrets import KEY_FILE, load_secrets
from openslot.platform.core.times import iso
from openslot.platform.core.work import Wiring, system_clock
from openslot.platform.flags.switches.store import list_status
from openslot.platform.i18n import say
from openslot.platform.jobs.health import (
    LATE_AFTER,
    count_effects,
    count_failed_items,
    count_unknown,
    count_workers,
    list_failed_items,
    list_health,
)
from openslot.platform.jobs.store import count_late

CLOCKS_MAY_DIFFER = timedelta(seconds=2)
CLOCKS_MUST_NOT_DIFFER = timedelta(seconds=30)
MAX_TOLD = 5


async def look_at_database(chosen: Settings, wiring: Wiring, *, is_asleep: bool) -> list[Finding]:
    """Check everything in the database, without changing anything."""
    connection = await connect(direct_url(chosen))
    try:
        findings = [ok("database", f"PostgreSQL {connection.get_server_version().major} responds.")]
        findings += await _look_through_pooler(chosen)
        findings += await _look_at_standby(connection, chosen)
        findings.append(await look_at_clock(connection))
        shape = await _look_at_shape(connection)
        findings.append(shape)
        if shape.state is not FindingState.PROBLEM:
            findings += await _look_at_seals(connection, chosen)
            findings += [finding async for finding in _look_at_life(connection, wiring, is_asleep=is_asleep)]
        return findings
    finally:
        await connection.close()


async def _look_through_pooler(chosen: Settings) -> list[Finding]:
    if chosen.direct_database_url is None or chosen.database_url is None:
        return []
    try:
        await (await connect(chosen.database_url)).close()
    except StartupError as fault:
        return [problem("pooler", str(fault), "Correct DATABASE_URL, or start the pooler")]
    return [ok("pooler", "The database also responds through DATABASE_URL.")]


async def _look_at_standby(connection: Db, chosen: Settings) -> list[Finding]:
    """Tell how far the standby from which free times are read is behind, and its clock, as web processes see it."""
    if chosen.read_database_url is None:
        return []
    meaning = "Free times are read from the database itself."
    standby = make_standby_pool(chosen.read_database_url, max_=1, profile=request_profile(chosen))
    try:
        behind = await measure_lag(standby)
        before = await read_clock(connection)
        theirs = await read_clock(standby)
        after = await read_clock(connection)
    except FAULTS as fault:
        told = f"The standby can't be read at {hide_password(chosen.read_database_url)}: {describe(fault)}. {meaning}"
        return [warning("standby", told, "Correct OPENSLOT_READ_DATABASE_URL, or start the standby")]
    finally:
        await standby.close()
    offset = (theirs - (before + (after - before) / 2)).total_seconds()
    if abs(offset) > AHEAD:
        words = f"The standby's clock is {abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} the database's"
        told = f"{words}: free times may be older than {BOUND:.0f} seconds, or the standby is not used."
        return [warning("standby", told, "timedatectl set-ntp true on both servers")]
    if why := find_fault(behind):
        remedy = "Start a worker, and look at the standby's replication"
        return [warning("standby", f"The standby is not used: {why}. {meaning}", remedy)]
    bound = f"free times may be {BOUND:.0f} seconds old"
    return [ok("standby", f"The standby is at most {behind:.0f} seconds behind; {bound}.")]


async def look_at_clock(connection: Db) -> Finding:
    """Compare the clock of this process with the database's."""
    before = system_clock()
    theirs = await read_clock(connection)
    after = system_clock()
    apart = abs(theirs - (before + (after - before) / 2))
    words = f"This machine's clock and the database's are {apart.total_seconds():.1f} s apart."
    if apart <= CLOCKS_MAY_DIFFER:
        return ok("clock", words)
    meaning = (
        f"{words} Links and sessions expire at the wrong time, and codes of two-factor authentication may be refused."
    )
    report = problem if apart > CLOCKS_MUST_NOT_DIFFER else warning
    return report("clock", meaning, "timedatectl set-ntp true")


async def _look_at_shape(connection: asyncpg.Connection) -> Finding:
    try:
        missing = await missing_migrations(connection)
    except StartupError as fault:
        return problem("migrations", str(fault), "Install the version of Openslot that the database was last used with")
    if missing:
        meaning = f"Not applied yet, so this version does not work with the database: {', '.join(missing)}."
        return problem("migrations", meaning, "openslot migrate")
    if ahead := await ahead_migrations(connection):
        newer = f"A newer version of Openslot has used the database, which is ahead by {describe_ahead(ahead)}."
        meaning = f"{newer} This version works with it."
        return warning("migrations", meaning, "Install the newer version here too")
    return ok("migrations", "The database is up to date.")


async def _look_at_seals(connection: asyncpg.Connection, chosen: Settings) -> list[Finding]:
    """Check whether the secret key matches the database; a missing or wrong key has a finding of its own."""
    if chosen.secret_key is None and not (chosen.data_dir / KEY_FILE).exists():
        return []
    try:
        secrets = load_secrets(chosen.secret_key, chosen.data_dir)
    except (StartupError, OSError, UnicodeDecodeError):
        return []
    if await opens_all(connection, secrets):
        return [ok("seals", "The secret key matches the database.")]
    meaning = "The secret key is not the one that the database was used with: Openslot can't start."
    is_file = chosen.secret_key is None
    fix = f"tar xf BACKUP -C {chosen.data_dir} {KEY_FILE}" if is_file else "Set OPENSLOT_SECRET_KEY to the former key"
    return [problem("seals", meaning, fix)]


async def _look_at_life(connection: asyncpg.Connection, wiring: Wiring, *, is_asleep: bool) -> AsyncIterator[Finding]:
    now = await read_clock(connection)
    workers = await count_workers(connection)
    if workers:
        yield ok("worker", f"{workers} worker{'s' if workers > 1 else ''} running.")
    elif is_asleep:
        yield warning("worker", "The service is not running.", "openslot serve")
    else:
        yield problem(
            "worker",
            "No worker has reported for 30 seconds: no emails, calendar entries or webhooks are sent.",
            "openslot worker",
        )
    for finding in await _look_at_effects(connection, wiring, now):
        yield finding
    yield await _look_at_periodic(connection, wiring, now, is_running=bool(workers))
    yield await _look_at_failed_items(connection)
    yield await _look_at_messaging(connection)
    yield await _look_at_bookings(connection, now)
    yield await _look_at_credits(connection)
    yield await _look_at_payments(connection)
    yield await _look_at_numbers(connection)
    yield await _look_at_people(connection)


async def _look_at_effects(connection: asyncpg.Connection, wiring: Wiring, now: datetime) -> list[Finding]:
    late = await count_late(connection, due_before=now - LATE_AFTER)
    dead = (await count_effects(connection, now=now)).dead
    found = await _look_at_unknown(connection, wiring)
    if late:
        meaning = f"{late} emails, calendar entries, webhooks or similar are over 5 minutes late: too few workers run."
        found.append(warning("effects", meaning, "openslot worker"))
    if dead:
        meaning = (
            f"{dead} emails, calendar entries, webhooks or similar have failed at every attempt and are not retried; "
            "openslot effect list --state dead shows why."
        )
        found.append(warning("effects", meaning, "openslot effect retry --all"))
    return found or [ok("effects", "No effect is late or dead.")]


async def _look_at_unknown(connection: asyncpg.Connection, wiring: Wiring) -> list[Finding]:
    unknown = await count_unknown(connection, [reaction.name for reaction in wiring.reactions])
    if not unknown:
        return []
    counts = ", ".join(f"{waiting} for {reaction}" for reaction, waiting in unknown.items())
    meaning = f"Some are known only to a newer version of Openslot and wait for its workers: {counts}."
    return [warning("effects", meaning, "Start openslot worker with the newer version")]


async def _look_at_periodic(
    connection: asyncpg.Connection, wiring: Wiring, now: datetime, *, is_running: bool
) -> Finding:
    jobs = await list_health(connection, wiring.periodic, now=now)
    runs = [(job, job.run) for job in jobs if job.run is not None]
    failed = [f"{job.name} at {iso(run.started_at)}: {run.result}" for job, run in runs if job.state == "failed"]
    late = [job.name for job in jobs if is_running and job.state == "late"]
    if failed:
        meaning = f"Failed: {'; '.join(failed)}. Their cleanup waits until they succeed."
        return problem(
            "periodic jobs", meaning, "Find the error in the worker's log; each job runs again automatically"
        )
    if late:
        meaning = f"More than 5 minutes late, so the workers are overloaded or stuck: {', '.join(late)}."
        return warning("periodic jobs", meaning, "openslot worker")
    return ok("periodic jobs", f"{len(runs)} of {len(jobs)} have run, none failed.")


async def _look_at_failed_items(connection: asyncpg.Connection) -> Finding:
    counts = await count_failed_items(connection)
    if not counts:
        return ok("single items", "No job has failed for one of those that it serves.")
    told = "; ".join(
        f"{each.job} for {each.item}, {each.failures} times since {iso(each.first_at)}: {each.error}"
        for each in await list_failed_items(connection, limit=MAX_TOLD)
    )
    more = sum(counts.values()) - MAX_TOLD
    meaning = f"Failed for some, while others went on: {told}{f'; and {more} more' if more > 0 else ''}."
    fix = "Find the error in the log of worker and web; each is tried again at the job's next run"
    return problem("single items", meaning, fix)


async def _look_at_messaging(connection: asyncpg.Connection) -> Finding:
    stopped = [each for each in await list_status(connection) if each.stop is not None]
    if not stopped:
        return ok("messages", "No outgoing messages are stopped.")
    described = "; ".join(
        f"{each.channel} since {iso(stop.at)} by {stop.name} ({stop.reason}), {each.waiting} waiting"
        for each in stopped
        if (stop := each.stop) is not None
    )
    fix = " && ".join(f"openslot messaging resume --channel {each.channel} --reason WHY" for each in stopped)
    return warning("messages", f"Outgoing messages are stopped: {described}.", fix)


async def _look_at_bookings(connection: asyncpg.Connection, now: datetime) -> Finding:
    lost = await list_without_time(connection, now=now)
    if not lost:
        return ok("bookings", "Every upcoming booking has its time reserved.")
    named = ", ".join(str(booking_id) for booking_id in lost[:5])
    return problem(
        "bookings",
        f"Upcoming bookings whose time is not reserved, so that it can be booked again: {len(lost)} ({named}).",
        "Reschedule or cancel them on their pages, /bookings/ID",
    )


async def _look_at_credits(connection: asyncpg.Connection) -> Finding:
    wrong = await count_wrong_credits(connection)
    if not wrong:
        return ok("teams", "Every credit of a team's hosts is the sum of its entries, and each group sums up to 0.")
    meaning = (
        f"Credits of teams' hosts that are not the sum of their entries, or groups that do not sum up to 0: {wrong}."
    )
    return warning("teams", meaning, "openslot team replay TEAM")


async def _look_at_payments(connection: asyncpg.Connection) -> Finding:
    failing = await list_failing(connection)
    if not failing:
        return ok("payments", "Every connected account for payments can be read.")
    reasons = ", ".join(sorted({say(each.last_error or "") for each in failing}))
    meaning = f"Accounts for payments that can't be read, so that nobody can pay: {len(failing)} ({reasons})."
    return warning("payments", meaning, "openslot payment connect --user EMAIL --key-stdin")


async def _look_at_numbers(connection: asyncpg.Connection) -> Finding:
    failing = await list_failing_numbers(connection)
    if not failing:
        return ok("numbers", "Every connected number for messages and calls can be used.")
    reasons = ", ".join(sorted({say(each.last_error or "") for each in failing}))
    meaning = f"Numbers for messages and calls that can't be used: {len(failing)} ({reasons})."
    return warning("numbers", meaning, "openslot messaging list")


async def _look_at_people(connection: asyncpg.Connection) -> Finding:
    users, admins = await count_users(connection)
    if admins:
        return ok("administrator", f"Administrators of the platform: {admins} of {users} accounts.")
    if users:
        meaning = "There is no administrator of the platform, so nobody can open /admin."
        return problem("administrator", meaning, "openslot user admin EMAIL")
    return warning("administrator", "There is no account yet.", "openslot user add EMAIL --name NAME --admin")
