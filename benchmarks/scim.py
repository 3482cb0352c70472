"""SCIM: an organization with 10,000 members, listed by pages and asked for one by one."""

import asyncio
import itertools
import random
from collections.abc import Iterator
from urllib.parse import quote
from uuid import UUID

import asyncpg
import msgspec
import uvloop

from benchmarks.data import make_ceiling
from benchmarks.load import get
from benchmarks.rows import Row, measure_rows
from benchmarks.stage import Stage, ceiling, service, stage
from openslot.domains.access.models import CredentialKind, new_key
from openslot.doors.scim.attributes import ENTERPRISE
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import system_clock

MEMBERS = 10_000
# Enough that no row of a limit is fought over.
TOKENS = 100
BASE = "/api/scim/v2/Users"


def main() -> None:
    """Write the members, measure against the ceiling, print a table."""
    with stage() as here:
        tokens = asyncio.run(_set_up(here))
        with ceiling(here) as top, service(here) as own:
            uvloop.run(measure_rows((top.port, own.port), rows(tokens)))


async def _set_up(here: Stage) -> list[str]:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    try:
        organization_id = new_id()
        await connection.execute(
            """insert into organizations (id, name, slug, plan, created_at, updated_at)
            values ($1, 'Bench', 'bench', 'BUSINESS', now(), now())""",
            organization_id,
        )
        await _copy_members(connection, organization_id)
        tokens = await _make_tokens(connection, organization_id)
        await make_ceiling(connection)
        await connection.execute("vacuum analyze")
        return tokens
    finally:
        await connection.close()


async def _copy_members(connection: asyncpg.Connection, organization_id: UUID) -> None:
    now, numbers = system_clock(), range(MEMBERS)
    users, members = [new_id() for _ in numbers], [new_id() for _ in numbers]
    await connection.copy_records_to_table(
        "users",
        records=[(users[n], f"user{n}@bench.example", f"User {n}", f"user{n}", now, now) for n in numbers],
        columns=["id", "email", "name", "username", "created_at", "updated_at"],
    )
    await connection.copy_records_to_table(
        "memberships",
        records=[(members[n], organization_id, users[n], now, now) for n in numbers],
        columns=["id", "organization_id", "user_id", "created_at", "updated_at"],
    )
    await connection.copy_records_to_table(
        "member_profiles",
        records=[(members[n], organization_id, _profile(n), 1, True, now, now) for n in numbers],
        columns=["member_id", "organization_id", "profile", "version", "active", "joined_at", "changed_at"],
    )


def _profile(n: int) -> str:
    profile = {
        "userName": f"user{n}@bench.example",
        "externalId": f"00u{n:016}",
        "name": {"givenName": "User", "familyName": str(n), "formatted": f"User {n}"},
        "displayName": f"User {n}",
        "emails": [{"value": f"user{n}@bench.example", "type": "work", "primary": True}],
        "title": "Account Executive",
        ENTERPRISE: {"department": "Sales", "employeeNumber": str(n)},
    }
    return msgspec.json.encode(profile).decode()


async def _make_tokens(connection: asyncpg.Connection, organization_id: UUID) -> list[str]:
    tokens = [new_key(CredentialKind.SCIM_TOKEN) for _ in range(TOKENS)]
    await connection.copy_records_to_table(
        "scim_tokens",
        records=[(new_id(), organization_id, "bench", fingerprint(t), t[-4:], system_clock()) for t in tokens],
        columns=["id", "organization_id", "name", "hash", "last_four", "created_at"],
    )
    return tokens


def rows(tokens: list[str]) -> list[Row]:
    """List what is measured."""
    return [
        Row(
            name="GET /Users, 100 of 10,000",
            requests=itertools.cycle([get(BASE, token) for token in tokens]),
            count=1_500,
            at_least="0.10",
            beyond="0.15",
        ),
        Row(
            name="GET /Users, the last 100",
            requests=itertools.cycle([get(f"{BASE}?startIndex={MEMBERS - 99}", token) for token in tokens]),
            count=1_000,
        ),
        Row(
            name='GET /Users, userName eq "…"',
            requests=_asked(tokens, 'userName eq "user{}@bench.example"'),
            count=2_000,
        ),
        Row(name='GET /Users, externalId eq "…"', requests=_asked(tokens, 'externalId eq "00u{:016}"'), count=2_000),
        Row(name='GET /Users, displayName co "…"', requests=_asked(tokens, 'displayName co "{}"'), count=150),
    ]


def _asked(tokens: list[str], filter_: str) -> Iterator[bytes]:
    dice = random.Random(7)
    while True:
        yield get(f"{BASE}?filter={quote(filter_.format(dice.randrange(MEMBERS)))}", dice.choice(tokens))


if __name__ == "__main__":
    main()
