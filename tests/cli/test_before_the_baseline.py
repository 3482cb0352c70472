"""A database or backup from before the first release is refused in one sentence, and stays as it is."""

from collections.abc import AsyncIterator

import asyncpg
import msgspec
import pytest

from openslot.platform.backups.archive import Backup
from openslot.platform.backups.restore import check_known
from openslot.platform.core.errors import StartupError
from openslot.platform.core.migrate import LEDGER, known_migrations, migrate
from tests.cli.support import sentence
from tests.support.databases import EMPTY, new_database
from tests.support.installation import Installation

SENTENCE = (
    "The {thing} is from before the release of Openslot 0.1.0 and can't be upgraded: export each account's data with "
    "the version that created it (/settings/data), then start this version with an empty data directory (--data-dir) "
    "or an empty database (--database-url); nothing was changed."
)
FORMER = ["0001_accounts.sql", "0002_access.sql", "0068_own_events.sql"]
RECORD = "insert into migrations (name, checksum) select unnest($1::text[]), 'x'"
FORMER_TABLES = """
create table users (id uuid primary key, email text not null);
create table pgqueuer (id serial primary key);
create table bookings (id uuid primary key, host_id uuid references users);"""
# Whatever is written has the number of a later transaction.
STATE = """
select array_agg(distinct relname::text order by relname::text) as names, max(xmin::text::bigint) as newest,
    (select count(*) from pg_attribute) as columns, (select count(*) from migrations) as migrations,
    (select count(*) from users) as users
from pg_class where relnamespace = 'public'::regnamespace"""

pytestmark = pytest.mark.rest("starts and stops services: one test in make test does")


@pytest.fixture
async def former_url(postgres: str) -> AsyncIterator[str]:
    """A database as one from before the release looks to whoever opens it."""
    async with new_database(postgres, EMPTY) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(LEDGER)
        await connection.execute(RECORD, FORMER)
        await connection.execute(FORMER_TABLES)
        await connection.execute("insert into users values (gen_random_uuid(), 'mara@lindqvist.example')")
        await connection.close()
        yield url


async def read_state(url: str) -> asyncpg.Record:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchrow(STATE)
    finally:
        await connection.close()


@pytest.mark.parametrize("command", ["serve", "serve --demo", "web", "worker", "migrate", "seed", "user list"])
async def test_every_way_in_refuses_it_in_one_sentence(empty: Installation, former_url: str, command: str) -> None:
    empty.environment["DATABASE_URL"] = former_url
    before = await read_state(former_url)

    assert sentence(empty, *command.split()) == SENTENCE.format(thing="database")
    assert await read_state(former_url) == before


async def test_one_without_accounts_is_refused_too(empty: Installation, former_url: str) -> None:
    connection = await asyncpg.connect(former_url)
    await connection.execute("delete from users")
    await connection.close()
    empty.environment["DATABASE_URL"] = former_url
    before = await read_state(former_url)

    assert sentence(empty, "serve") == SENTENCE.format(thing="database")
    assert await read_state(former_url) == before


async def test_the_doctor_says_the_same_and_which_version_is_needed(empty: Installation, former_url: str) -> None:
    empty.environment["DATABASE_URL"] = former_url
    before = await read_state(former_url)
    code, out, err = empty.run("doctor", "--json")
    found = {finding["name"]: finding for finding in msgspec.json.decode(out)["findings"]}

    assert (code, err) == (1, "")
    assert found["migrations"]["meaning"] == SENTENCE.format(thing="database")
    assert found["migrations"]["fix"] == "Install the version of Openslot that the database was last used with"
    assert await read_state(former_url) == before


def test_a_backup_from_before_is_refused(backup: Backup) -> None:
    former = msgspec.structs.replace(backup.manifest, migrations=dict.fromkeys(FORMER, "x"))

    with pytest.raises(StartupError) as refused:
        check_known(msgspec.structs.replace(backup, manifest=former))

    assert str(refused.value) == SENTENCE.format(thing="backup")


async def test_a_baseline_that_was_cut_off_is_continued(postgres: str) -> None:
    known = known_migrations()
    first, *rest = known
    async with new_database(postgres, EMPTY) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(LEDGER)
        await connection.close()

        assert await migrate(url, {first: known[first]}) == [first]
        assert await migrate(url) == rest
