"""The statements of the last release: how they are kept, and how they are tried on another shape of the database."""

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from asyncpg.prepared_stmt import PreparedStatement
from msgspec import Struct

KEPT = Path(__file__).parent / "statements"
RELEASE = KEPT.with_name("release.json")
DATA = re.compile(r"(\s|--[^\n]*\n)*(select|insert|update|delete|with|values)\b", re.IGNORECASE)
PYTHON_TYPES: dict[str, type] = {
    "bool": bool,
    "bytea": bytes,
    "date": date,
    "float8": float,
    "int2": int,
    "int4": int,
    "int8": int,
    "interval": timedelta,
    "numeric": Decimal,
    "time": time,
    "timestamptz": datetime,
    "uuid": UUID,
}
AS_AT_COMMIT = "set constraints all immediate"
MAY_FIND_MORE = ("openslot/cli/",)
# What a statement refers to may be made by another one: here each runs alone. Triggers of our own stay on.
WITHOUT_REFERENCES = """
do $$ declare name regclass; begin
    for name in select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
        execute format('alter table %s disable trigger all', name);
        execute format('alter table %s enable trigger user', name);
    end loop;
end $$"""


class Release(Struct, frozen=True, kw_only=True):
    """The release that is recorded, and the commit that its recording was made of."""

    version: str
    commit: str


class Bounds(Struct, frozen=True):
    """A range of moments, as a recorded argument."""

    lower: datetime | None
    upper: datetime | None
    lower_inc: bool
    upper_inc: bool
    isempty: bool


class Statement(Struct, frozen=True, kw_only=True):
    """One statement with the types that the database told of, and arguments that it ran with, where it could alone."""

    origin: str
    sql: list[str]
    parameters: list[str] = []
    columns: list[str] = []
    arguments: list[Any] | None = None

    @property
    def text(self) -> str:
        """The statement as it was sent."""
        return "\n".join(self.sql)

    def takes(self, columns: list[str]) -> bool:
        """Tell whether a process goes on that has the statement prepared, when its rows are made of these columns.

        Inside of a transaction a prepared statement fails when its columns change. A command prepares anew each time,
        and the queue never speaks inside of one: both may find more columns than they knew.
        """
        if self.origin.startswith(MAY_FIND_MORE):
            return set(self.columns) <= set(columns)
        return self.columns == columns

    def values(self) -> list[object]:
        """The arguments as the driver takes them."""
        return [_convert(value, kind) for value, kind in zip(self.arguments or [], self.parameters, strict=True)]


def load_release() -> Release:
    """Read which release is recorded."""
    return msgspec.json.decode(RELEASE.read_bytes(), type=Release)


def load_statements() -> list[Statement]:
    """Read every statement of the last release."""
    kept = [msgspec.json.decode(path.read_bytes(), type=list[Statement]) for path in sorted(KEPT.glob("*.json"))]
    return [statement for statements in kept for statement in statements]


async def find_faults(connection: asyncpg.Connection, statements: list[Statement]) -> list[str]:
    """Try every statement as a process of the last release would, `WITHOUT_REFERENCES`; tell which no longer work."""
    return [fault for one in statements if (fault := await find_fault(connection, one)) is not None]


async def find_fault(connection: asyncpg.Connection, one: Statement) -> str | None:
    """Prepare and run one statement in a transaction that is rolled back; tell what is wrong with it."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        prepared = await connection.prepare(one.text)
        parameters, columns = describe(prepared)
        if parameters != one.parameters:
            return f"{one.origin}: its parameters were {one.parameters}, now {parameters}: {one.text}"
        if not one.takes(columns):
            return f"{one.origin}: its columns were {one.columns}, now {columns}: {one.text}"
        if one.arguments is not None:
            await prepared.fetch(*one.values(), timeout=60)
            await connection.execute(AS_AT_COMMIT)
    except asyncpg.PostgresError as fault:
        return f"{one.origin}: {fault}: {one.text}"
    finally:
        await transaction.rollback()
    return None


def describe(prepared: PreparedStatement) -> tuple[list[str], list[str]]:
    """Tell which types a statement takes, and what its rows are made of."""
    parameters = [kind.name for kind in prepared.get_parameters()]
    return parameters, [f"{column.name} {column.type.name}" for column in prepared.get_attributes()]


def _convert(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind.endswith("[]"):
        return [_convert(each, kind[:-2]) for each in value]
    if kind == "tstzrange":
        bounds = msgspec.convert(value, Bounds)
        return asyncpg.Range(
            bounds.lower, bounds.upper, lower_inc=bounds.lower_inc, upper_inc=bounds.upper_inc, empty=bounds.isempty
        )
    return msgspec.convert(value, PYTHON_TYPES[kind]) if kind in PYTHON_TYPES else value
