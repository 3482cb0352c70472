"""Searching contacts: an owner with 10,000 and one with 100,000, among a thousand others with 100 each."""

import asyncio
import itertools
import random
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote
from uuid import UUID

import asyncpg
import uvloop
from msgspec import Struct

from benchmarks.data import make_ceiling
from benchmarks.load import Result, get
from benchmarks.stage import Stage, ceiling, service, stage
from benchmarks.turns import measure_in_turns
from openslot.domains.access.models import CredentialKind, new_key
from openslot.domains.contacts.models import fold_contact
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import system_clock

SIZES = (10_000, 100_000)
OTHERS, CONTACTS_OF_OTHERS = 1_000, 100
KEYS = 200
FIRST_NAMES = ["Anna", "Björn", "Chloé", "Dmitri", "Elif", "Femi", "Greta", "Hiro", "Ines", "Jamal", "Karin", "Luis"]
LAST_NAMES = ["Andersson", "Brown", "Costa", "Dubois", "Eriksen", "Fischer", "García", "Haddad", "Ito", "Lindqvist"]
COMPANIES = ["Acme", "Globex", "Initech", "Umbrella", "Hooli", "Stark", "Wayne", "Wonka", "Soylent", "Cyberdyne"]

# How many requests measure it, and what is searched for; a new word each time where the number stands.
SEARCHES = {
    "one contact": (2_000, "{0}@mail"),
    "a name and a few letters": (2_000, "lindqvist {1}"),
    "everyone at a company": (200, "hooli"),
    "two letters": (200, "xq"),
    "what everyone has": (100, "example"),
    "nothing: the whole list": (500, ""),
}


class Owner(Struct, frozen=True):
    """Whose contacts are searched, by keys enough that no row of a limit is fought over."""

    size: int
    keys: list[str]


def main() -> None:
    """Write the contacts, measure against the ceiling, print a table."""
    with stage() as here:
        owners = asyncio.run(_set_up(here))
        with ceiling(here) as top, service(here) as own:
            uvloop.run(_measure((top.port, own.port), owners))


async def _set_up(here: Stage) -> list[Owner]:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    try:
        users = [new_id() for _ in range(OTHERS + len(SIZES))]
        await _copy_users(connection, users)
        for user_id in users[len(SIZES) :]:
            await copy_contacts(connection, user_id, CONTACTS_OF_OTHERS)
        owners = [await _make_owner(connection, *each) for each in zip(users, SIZES, strict=False)]
        await make_ceiling(connection)
        await connection.execute("vacuum analyze contacts")
        return owners
    finally:
        await connection.close()


async def _copy_users(connection: asyncpg.Connection, users: list[UUID]) -> None:
    now = system_clock()
    await connection.copy_records_to_table(
        "users",
        records=[(each, f"{each}@bench.example", "Bench", each.hex, "PRO", now, now) for each in users],
        columns=["id", "email", "name", "username", "plan", "created_at", "updated_at"],
    )


async def _make_owner(connection: asyncpg.Connection, user_id: UUID, size: int) -> Owner:
    await copy_contacts(connection, user_id, size)
    keys = [new_key(CredentialKind.API_KEY) for _ in range(KEYS)]
    await connection.copy_records_to_table(
        "api_keys",
        records=[(new_id(), user_id, "bench", fingerprint(key), key[-4:], system_clock()) for key in keys],
        columns=["id", "user_id", "name", "hash", "last_four", "created_at"],
    )
    return Owner(size, keys)


async def copy_contacts(connection: asyncpg.Connection, owner_id: UUID, count: int) -> None:
    """Write so many contacts of one owner in bulk."""
    dice, now = random.Random(count), system_clock()
    rows = []
    for number in range(count):
        letters = "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=5))
        name = f"{dice.choice(FIRST_NAMES)} {dice.choice(LAST_NAMES)} {letters}"
        email, company = f"{letters}.{number}@mail.example", f"{dice.choice(COMPANIES)} {letters[::-1]}"
        at = now - timedelta(minutes=count - number)
        rows.append((new_id(), owner_id, name, email, company, _search_text(name, email, company), at, at))
    await connection.copy_records_to_table(
        "contacts",
        records=rows,
        columns=["id", "owner_id", "name", "email", "company", "search_text", "created_at", "updated_at"],
    )


def _search_text(name: str, email: str, company: str) -> str:
    return fold_contact(name=name, email=email, company=company)


async def _measure(ports: tuple[int, int], owners: list[Owner]) -> None:
    print(f"{'contacts':>9}  {'search':<26}{'req/s':>9}{'p95 ms':>9}{'ceiling':>9}{'ratio':>8}")
    for owner, (name, (count, search)) in itertools.product(owners, SEARCHES.items()):
        _print_row(owner.size, name, *await measure_in_turns(ports, _requests(owner, search), count=count))


def _requests(owner: Owner, search: str) -> Iterator[bytes]:
    dice = random.Random(owner.size)
    letters = "abcdefghijklmnopqrstuvwxyz"
    while True:
        word = search.format(dice.randrange(owner.size), "".join(dice.choices(letters, k=2)))
        yield get(f"/api/v1/contacts?search={quote(word)}", dice.choice(owner.keys))


def _print_row(size: int, name: str, top: Result, own: Result) -> None:
    if set(own.statuses) != {200}:
        raise SystemExit(f"searching for {name} answered {own.statuses}")
    ratio = own.per_second / top.per_second
    print(
        f"{size:>9,}  {name:<26}{own.per_second:>9.0f}{own.p95_ms:>9.1f}{top.per_second:>9.0f}{ratio:>8.2f}", flush=True
    )


if __name__ == "__main__":
    main()
