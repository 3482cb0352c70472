"""Changes: statements whose result is not needed right away, so that several of them can be sent as one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import asyncpg
from msgspec import Struct

from openslot.core.db import Db
from openslot.core.errors import Refusal

_ARGUMENT = re.compile(r"\$(\d+)")


class Change(Struct, frozen=True):
    """A statement that writes, its arguments, and the refusal to raise for each constraint that it may violate.

    Changes that are made together all see the data from before: none may depend on what another one writes.
    """

    sql: str
    args: tuple[object, ...]
    refusals: dict[str, type[Refusal]] = {}
    lost: type[Refusal] | None = None
    """The refusal to raise if it changes no row, because the condition in its `where` no longer holds."""


async def make(db: Db, changes: Sequence[Change]) -> None:
    """Make all of these changes in one statement."""
    statements = tuple(change.sql for change in changes)
    sql = f"with {', '.join(write_parts(statements, first=1))} select {count_parts(len(statements))}"
    with refusing(changes):
        check_counts(changes, await db.fetchval(sql, *arguments(changes)))


def arguments(changes: Iterable[Change]) -> Iterator[object]:
    """List the arguments of changes in the order in which `write_parts` numbers them."""
    return (argument for change in changes for argument in change.args)


@cache
def write_parts(statements: tuple[str, ...], *, first: int) -> tuple[str, ...]:
    """Write statements as parts of a `with`, numbering their arguments from `first` on."""
    parts = []
    for place, sql in enumerate(statements):
        parts.append(f"change_{place} as ({_number_on(sql, first)} returning 1)")
        first += max(int(number) for number in _ARGUMENT.findall(sql))
    return tuple(parts)


@cache
def count_parts(count: int) -> str:
    """Write the SQL that returns how many rows each part of a `with` has changed."""
    return f"array[{', '.join(f'(select count(*) from change_{place})' for place in range(count))}]::bigint[]"


def check_counts(changes: Sequence[Change], counts: Sequence[int]) -> None:
    """Raise the refusal of a change that has to find a row and has found none."""
    for change, count in zip(changes, counts, strict=True):
        if change.lost is not None and not count:
            raise change.lost


def _number_on(sql: str, first: int) -> str:
    return _ARGUMENT.sub(lambda found: f"${int(found[1]) - 1 + first}", sql)


@contextmanager
def refusing(changes: Iterable[Change]) -> Iterator[None]:
    """Turn a violated constraint into the refusal that the change declares for it."""
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as fault:
        refusals = {name: refusal for change in changes for name, refusal in change.refusals.items()}
        if fault.constraint_name not in refusals:
            raise
        raise refusals[fault.constraint_name] from None
