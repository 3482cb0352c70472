"""Change tables while other processes use them: statement by statement, short waits for locks, no half-built index."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import structlog
from msgspec import Struct

from openslot.core.errors import StartupError

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

log = structlog.get_logger()


class LockRetries(Struct, frozen=True, kw_only=True):
    """How long a schema change waits for locks, and how often it is tried again."""

    # Statements that need the table queue behind us, so this is also how long they may have to wait.
    lock_timeout: timedelta = timedelta(seconds=2)
    # Nothing queues behind a concurrent build; it only waits for old transactions to end.
    concurrent_lock_timeout: timedelta = timedelta(minutes=10)
    pauses: tuple[float, ...] = (0.5, 1, 2, 4, 8, 15, 30, 30, 30)


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
