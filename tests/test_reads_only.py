"""Tests that only read: they share what their fixtures make, and what they write is refused."""

import asyncpg
import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.host import Book, book, clock, member, settings, user

__all__ = ["book", "clock", "member", "settings", "user"]

pytestmark = pytest.mark.reads_only

SEEN: set[str] = set()


@pytest.mark.parametrize("number", [1, 2])
async def test_all_tests_of_the_file_have_the_same_host(runtime: Runtime, user: User, number: int) -> None:
    SEEN.add(str(user.id))

    assert await runtime.pool.fetchval("select count(*) from users") == len(SEEN) == 1


async def test_a_page_is_read(member: httpx2.AsyncClient) -> None:
    assert (await member.get("/bookings")).status_code == 200


async def test_a_form_that_would_change_something_fails(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    before = await runtime.pool.fetchval("select count(*) from api_keys")
    answer = await member.post("/account/keys", data={"name": "Written", "expires": "never"})

    assert answer.status_code == 500
    assert await runtime.pool.fetchval("select count(*) from api_keys") == before


async def test_a_verb_or_a_statement_that_writes_is_refused(runtime: Runtime, book: Book) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
        await book()
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
        await runtime.pool.execute("update users set name = 'Written'")


@pytest.fixture
async def late(runtime: Runtime, user: User) -> str:
    await runtime.pool.execute("update users set name = 'Mara L.' where id = $1", user.id)
    return "Mara L."


async def test_a_fixture_of_a_later_test_may_write(member: httpx2.AsyncClient, late: str) -> None:
    assert late in (await member.get("/bookings")).text
