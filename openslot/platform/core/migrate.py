"""Bring a database to the schema of this version while others use it: small steps, short waits, no half-built index."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable

import asyncpg
import structlog
from msgspec import Struct

from openslot.platform.core import connecting
from openslot.platform.core.config import Settings
from openslot.platform.core.db import DOWN, OLDEST_SERVER, Db
from openslot.platform.core.errors import StartupError
from openslot.platform.core.outages import reason

CONCURRENTLY = re.compile(r"\bconcurrently\b", re.IGNORECASE)
_NAME = r'(?:"(?:[^"]|"")+"|[\w$]+)'
BUILDS_INDEX = re.compile(
    rf"create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(?!on\b)(?P<name>{_NAME}(?:\.{_NAME})?)",
    re.IGNORECASE,
)
IS_HALF_BUILT = "select exists (select 1 from pg_index where indexrelid = to_regclass($1) and not indisvalid)"
OLDEST_TRANSACTION = """
select pid, coalesce(nullif(application_name, ''), 'unnamed') as application, xact_start from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
order by xact_start limit 1"""


class LockRetries(Struct, frozen=True, kw_only=True):
    """How long a schema change waits for locks, and how often it is tried again."""

    # Statements that need the table queue behind us, so this is also how long they may have to wait. PostgreSQL ends a
    # request that waits for us and holds what we wait for, after its deadlock_timeout of one second: we give up first.
    lock_timeout: timedelta = timedelta(milliseconds=300)
    # Nothing queues behind a concurrent build; it only waits for old transactions to end.
    concurrent_lock_timeout: timedelta = timedelta(minutes=10)
    pauses: tuple[float, ...] = (0.2, 0.5, 0.5, 1, 1, 2, 2, 4, 8, 15, 30, 30, 30)


LOCK_RETRIES = LockRetries()


async def with_lock_retries(
    connection: asyncpg.Connection, name: str, run: Callable[[], Awaitable[None]], retries: LockRetries
) -> None:
    """Run a schema change, and try it again after growing pauses while others hold a lock that it needs."""
    for pause in (*retries.pauses, None):
        try:
            return await run()
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            if pause is None:
                break
            log.info("waiting for a lock", wanted_by=name, next_try_in_seconds=pause)
            await asyncio.sleep(pause)
    raise StartupError(
        f"{name} can't be applied: others hold a lock that it needs, after {len(retries.pauses) + 1} tries. "
        f"{await _describe_oldest(connection)}Try again: openslot migrate"
    )


async def limit_waiting(connection: asyncpg.Connection, limit: timedelta) -> None:
    """Limit how long each of the following statements waits for a lock."""
    await connection.execute(f"set lock_timeout = {int(limit.total_seconds() * 1000)}")


async def run_alone(connection: asyncpg.Connection, statement: str, retries: LockRetries) -> None:
    """Run one statement outside of a transaction, after removing what an interrupted build has left."""
    is_concurrent = CONCURRENTLY.search(statement) is not None
    await limit_waiting(connection, retries.concurrent_lock_timeout if is_concurrent else retries.lock_timeout)
    built = BUILDS_INDEX.match(statement)
    if built is not None and await connection.fetchval(IS_HALF_BUILT, built["name"]):
        await connection.execute(f"drop index concurrently {built['name']}")
    await connection.execute(statement)


async def _describe_oldest(connection: asyncpg.Connection) -> str:
    row = await connection.fetchrow(OLDEST_TRANSACTION)
    if row is None:
        return ""
    return (
        f"The oldest open transaction is that of process {row['pid']} ({row['application']}), "
        f"since {row['xact_start']:%Y-%m-%d %H:%M:%S} UTC. "
    )


# A semicolon inside one of these does not end a statement.
PART = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\* )
  | (?P<quoted>
        [eE]'(?: [^'\\] | \\. | '' )*'
      | '(?: [^'] | '' )*'
      | "(?: [^"] | "" )*"
      | \$(?P<tag>(?: [^\W\d]\w* )?)\$ .*? \$(?P=tag)\$
    )
  | (?P<word> [^\W\d][\w$]* | \d[\w.]* | \$\d+ )
  | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
BLOCK_EDGE = re.compile(r"/\*|\*/")
UNENDED = {"'": "a string", '"': "a quoted name", "$": "a dollar quote"}


def split_statements(script: str) -> list[str]:
    """List the statements of a script without comments and without the semicolons between them."""
    statements, parts, word, depth, at = [], "", "", 0, 0
    while found := PART.match(script, at):
        text, at = found[0], found.end()
        if found["comment"]:
            text, at = " ", _end_of_block(script, found.start()) if text == "/*" else at
        elif found["word"]:
            word = _check_simple(word, text.lower())
        elif found["sign"]:
            _check_ended(script, found.start())
            depth += (text == "(") - (text == ")")
        if text == ";" and depth == 0:
            statements.append(parts)
            parts = ""
        else:
            parts += text
    return [kept for each in (*statements, parts) if (kept := each.strip())]


def _end_of_block(script: str, start: int) -> int:
    """Find where a block comment ends; comments can be nested."""
    depth, at = 1, start + 2
    while depth:
        edge = BLOCK_EDGE.search(script, at)
        if edge is None:
            raise ValueError(f"a comment that begins at character {start + 1} does not end")
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return at


def _check_ended(script: str, at: int) -> None:
    """Raise an error for a quote that is never closed; a closed one would have matched as a quoted part."""
    if script[at] in UNENDED:
        raise ValueError(f"{UNENDED[script[at]]} that begins at character {at + 1} does not end")


def _check_simple(before: str, word: str) -> str:
    """Raise an error for a body of several statements that is not quoted."""
    if (before, word) == ("begin", "atomic"):
        raise ValueError("a function's body must be quoted: `begin atomic` can't be split safely")
    return word


def direct_url(chosen: Settings) -> str:
    """Return the address of the database that bypasses the pooler."""
    return chosen.direct_database_url or chosen.database_url or ""


async def connect(url: str, **settings: str) -> asyncpg.Connection:
    """Open one connection, or raise a `StartupError` if the server can't be reached or is too old."""
    try:
        connection = await connecting.connect(url, within=10, server_settings=settings)
    except (*DOWN, asyncpg.PostgresError, ValueError) as fault:
        raise connecting.unreachable(url, fault) from None
    version = connection.get_server_version()
    if version.major < OLDEST_SERVER // 10000:
        connection.terminate()
        raise StartupError(f"PostgreSQL 15 or newer is needed; the database is version {version.major}.")
    return connection


async def has_table(db: Db, name: str) -> bool:
    """Return whether the schema that migrations go to has this table."""
    return bool(await db.fetchval(HAS_TABLE, name))


async def read_clock(connection: Db) -> datetime:
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now


LOCK = 7_053_121_407
LOOK_EVERY = 0.1
# Those of extensions belong to nobody's program.
HAS_TABLE = "select to_regclass(format('%I.%I', current_schema(), $1::text)) is not null"
# In one statement: another process may make the ledger between two.
FOUND = """
select array(
    select relname from pg_class c where relnamespace = to_regnamespace(current_schema()) and relkind in ('r', 'p')
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e') order by relname
) as tables, (
    select count(*) = 2 from information_schema.columns
    where table_schema = current_schema() and table_name = 'migrations' and column_name in ('name', 'checksum')
) as has_ledger"""
LEDGER = """
create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now()
)"""
APPLIED = "insert into migrations (name, checksum) values ($1, $2)"
# How the files of the baseline begin, and the first file of the one before it, with which an older database began.
BASELINE = "0.2.0_"
FORMER_BEGINNING = "0001_baseline_core.sql"
OF_ANY_BASELINE = re.compile(r"\d+\.\d+\.\d+_")
# The first line of a migration whose statements run one by one outside of a transaction and can all be repeated.
NO_TRANSACTION = "-- openslot: no transaction"

log = structlog.get_logger()


def known_migrations() -> dict[str, str]:
    """Return what an empty database reads, name to SQL, in order: the baseline, and every later migration."""
    return _read_folder(files("openslot.platform.migrations"))


def former_migrations() -> dict[str, str]:
    """Return what a database that began with 0.1.0 reads in place of the baseline, and has the same schema then."""
    return _read_folder(files("openslot.platform.migrations") / "from_0_1_0")


def _read_folder(folder: Traversable) -> dict[str, str]:
    found = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return {file.name: file.read_text("utf-8") for file in sorted(found, key=lambda file: file.name)}


def choose_migrations(applied: Collection[str], known: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return the migrations, of those that a version knows, for a database that has applied these."""
    known = known_migrations() if known is None else known
    if FORMER_BEGINNING not in applied or FORMER_BEGINNING in known:
        return known
    return former_migrations() | {name: sql for name, sql in known.items() if not name.startswith(BASELINE)}


def checksum(sql: str) -> str:
    """Hash a migration, so that an edited one is detected."""
    return hashlib.sha256(sql.encode()).hexdigest()


async def migrate(
    url: str, known: Mapping[str, str] | None = None, *, retries: LockRetries = LOCK_RETRIES
) -> list[str]:
    """Apply missing migrations, one process at a time, and return their names; leave a newer database unchanged."""
    connection = await connect(url, timezone="UTC")
    try:
        missing = await missing_migrations(connection, known)
        if ahead := await ahead_migrations(connection, known):
            log.info("the database is ahead of this version", by=describe_ahead(ahead))
        # A process with nothing to apply does not wait for one that is migrating.
        if not missing:
            return []
        await _take_turn(connection)
        return await _apply_missing(connection, known, retries)
    finally:
        await connection.close()


async def missing_migrations(connection: asyncpg.Connection, known: Mapping[str, str] | None = None) -> list[str]:
    """List the migrations that the database does not have yet; raise an error if an applied one was edited."""
    applied = await _read_ledger(connection)
    known = choose_migrations(applied, known)
    check_baseline("database", applied, known)
    for name, sql in known.items():
        if applied.get(name, checksum(sql)) != checksum(sql):
            raise StartupError(
                f"The migration {name} was changed after it had been applied. Restore the original file."
            )
    return [name for name in known if name not in applied]


def check_baseline(thing: str, applied: Collection[str], known: Mapping[str, str]) -> None:
    """Refuse what has migrations, but not the first one of a baseline that is known."""
    if not applied or next(iter(known)) in applied:
        return
    if any(OF_ANY_BASELINE.match(name) for name in applied):
        raise StartupError(
            f"The {thing} was created by a newer version of Openslot. Upgrade first; nothing was changed."
        )
    raise StartupError(
        f"The {thing} is from before the release of Openslot 0.1.0 and can't be upgraded: export each account's data "
        "with the version that created it (/settings/data), then start this version with an empty data directory "
        "(--data-dir) or an empty database (--database-url); nothing was changed."
    )


async def ahead_migrations(connection: asyncpg.Connection, known: Mapping[str, str] | None = None) -> list[str]:
    """List the migrations of the database that this version does not know: a newer version has applied them."""
    applied = await _read_ledger(connection)
    return sorted(applied.keys() - choose_migrations(applied, known).keys())


def describe_ahead(ahead: Sequence[str]) -> str:
    """Say how many migrations a newer version has applied, and the last of them."""
    return f"{len(ahead)} migration{'s' if len(ahead) > 1 else ''}, the last is {ahead[-1].removesuffix('.sql')}"


async def _read_ledger(connection: asyncpg.Connection) -> dict[str, str]:
    """Return what has been applied, name to checksum; raise an error for a database that another program uses."""
    tables, has_ledger = await connection.fetchrow(FOUND)
    if not has_ledger:
        if tables:
            raise StartupError(
                f"The database has tables of another program: {', '.join(tables[:3])}"
                f"{f' and {len(tables) - 3} more' if len(tables) > 3 else ''}. Openslot needs a database of its own: "
                "create one, and name it in DATABASE_URL. Nothing was changed."
            )
        return {}
    return {row["name"]: row["checksum"] for row in await connection.fetch("select name, checksum from migrations")}


async def _take_turn(connection: asyncpg.Connection) -> None:
    """Wait for other processes that are migrating, polling with short statements.

    A session that waits inside one statement would block an index that is built concurrently.
    """
    is_told = False
    while not await connection.fetchval("select pg_try_advisory_lock($1)", LOCK):
        if not is_told:
            log.info("waiting for another process that migrates")
            is_told = True
        await asyncio.sleep(LOOK_EVERY)


async def _apply_missing(
    connection: asyncpg.Connection, known: Mapping[str, str] | None, retries: LockRetries
) -> list[str]:
    missing = await missing_migrations(connection, known)
    known = choose_migrations(await _read_ledger(connection), known)
    await connection.execute("set statement_timeout = 0")
    await connection.execute(LEDGER)
    for name in missing:
        if known[name].partition("\n")[0].rstrip() == NO_TRANSACTION:
            await _apply_one_by_one(connection, name, known[name], retries)
        else:
            await limit_waiting(connection, retries.lock_timeout)
            run = partial(_apply, connection, name, known[name])
            await with_lock_retries(connection, f"The migration {name}", run, retries)
    return missing


async def _apply(connection: asyncpg.Connection, name: str, sql: str) -> None:
    """Apply a migration completely or not at all."""
    async with connection.transaction():
        await connection.execute(sql)
        await connection.execute(APPLIED, name, checksum(sql))


async def _apply_one_by_one(connection: asyncpg.Connection, name: str, sql: str, retries: LockRetries) -> None:
    """Apply a migration statement by statement; if it is interrupted, the next run repeats it from the beginning."""
    for statement in split_statements(sql):
        run = partial(run_alone, connection, statement, retries)
        await with_lock_retries(connection, f"The migration {name}", run, retries)
    await connection.execute(APPLIED, name, checksum(sql))


async def bring_up_to_date(url: str, known: Mapping[str, str] | None = None) -> list[str]:
    """Apply the missing migrations, and return their names; raise a `StartupError` if the server is too old."""
    try:
        return await migrate(url, known)
    except asyncpg.PostgresError as fault:
        raise StartupError(f"The database can't be migrated: {reason(fault)}.") from None


async def check_migrated(url: str) -> None:
    """Raise a `StartupError` if the database lacks migrations; one with newer migrations is accepted."""
    connection = await connect(url)
    try:
        missing = await missing_migrations(connection)
        is_empty = not await has_table(connection, "migrations")
    finally:
        await connection.close()
    if is_empty:
        raise StartupError("The database is empty. Run `openslot migrate` first.")
    if missing:
        raise StartupError(
            f"The database is behind this version of Openslot by {len(missing)} migration"
            f"{'s' if len(missing) > 1 else ''}. Run `openslot migrate` first."
        )


async def fill_empty(url: str) -> None:
    """Create the schema in an empty database; any other database must already be up to date."""
    connection = await connect(url)
    try:
        is_empty = not await has_table(connection, "migrations")
    finally:
        await connection.close()
    await (bring_up_to_date(url) if is_empty else check_migrated(url))
