"""Safe retries: one Idempotency-Key, one change, one answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import httpx2
import msgspec
import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.errors import ResponseLost
from openslot.domains.access.idempotency import (
    StoredResponse,
    delete_old_responses,
    find_response,
    read_request,
    store_response,
)
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Db
from openslot.platform.core.sealing import replace_lost_data_keys, reseal_all
from openslot.platform.core.secrets import KEY_FILE, Secrets, changing_keys, rotate_key_file
from openslot.platform.core.work import Runtime, Work
from openslot.runtime import open_runtime
from openslot.wiring import SEALED
from tests.domains.access.probes import TABLE
from tests.support.shared_database import SharedDatabase, sharing_with

GATE = 77
WAITING = "select exists (select from pg_locks where locktype = 'advisory' and not granted and objid = $1)"
SLOW_LOCK = f"""
create schema slow;
create function slow.pg_try_advisory_xact_lock(bigint) returns boolean language plpgsql as $$
begin
    perform pg_advisory_xact_lock({GATE});
    return pg_catalog.pg_try_advisory_xact_lock($1);
end $$"""
ROWS = "/api/v1/probe/rows"
Pair = tuple[httpx2.AsyncClient, httpx2.AsyncClient]


@pytest.fixture(scope="module")
async def shared_database(postgres: str) -> AsyncIterator[SharedDatabase]:
    """Share a database that has a table for the probes to write to, and a lock that has to wait."""
    async with sharing_with(postgres, f"{TABLE}; {SLOW_LOCK}") as shared:
        yield shared


@asynccontextmanager
async def closed_gate(runtime: Runtime) -> AsyncIterator[Db]:
    """Let everyone who takes the lock wait until it is opened on the connection that this gives."""
    async with runtime.pool.acquire() as connection:
        await connection.execute("select pg_advisory_lock($1)", GATE)
        try:
            yield connection
        finally:
            await connection.execute("select pg_advisory_unlock_all()")


class Retrying:
    """A client that can send the same thing again, to either server."""

    def __init__(self, pair: Pair, runtime: Runtime, bearer: dict[str, str]) -> None:
        self.pair = pair
        self.runtime = runtime
        self.bearer = bearer

    async def send(
        self,
        key: str | bytes,
        body: object = None,
        *,
        method: str = "POST",
        path: str = ROWS,
        server: int = 0,
        bearer: dict[str, str] | None = None,
    ) -> httpx2.Response:
        """Send a row with an Idempotency-Key."""
        headers = {**(bearer or self.bearer), "Idempotency-Key": key}
        return await self.pair[server].request(method, path, json=body or {"note": "a"}, headers=headers)  # type: ignore[arg-type]

    async def rows(self) -> int:
        """Count what was written."""
        count: int = await self.runtime.pool.fetchval("select count(*) from probe_rows")
        return count

    async def kept(self) -> int:
        """Count the answers that are kept."""
        count: int = await self.runtime.pool.fetchval("select count(*) from idempotency")
        return count


@pytest.fixture
async def retrying(pair: Pair, runtime: Runtime, bearer: dict[str, str]) -> Retrying:
    """Make a client with a key."""
    return Retrying(pair, runtime, bearer)


async def test_a_repeat_gets_the_first_answer_again_from_any_server(retrying: Retrying) -> None:
    first = await retrying.send("k")
    repeats = [await retrying.send("k", server=server) for server in (0, 1)]

    assert (first.status_code, first.headers.get("idempotent-replayed")) == (201, None)
    for repeat in repeats:
        assert (repeat.status_code, repeat.content) == (201, first.content)
        assert repeat.headers["idempotent-replayed"] == "true"
        assert repeat.headers["content-type"] == first.headers["content-type"]
        assert repeat.headers["x-request-id"] != first.headers["x-request-id"]
    assert await retrying.rows() == 1


async def test_without_a_key_every_request_counts(retrying: Retrying) -> None:
    for _ in range(2):
        await retrying.pair[0].post(ROWS, json={"note": "a"}, headers=retrying.bearer)

    assert (await retrying.rows(), await retrying.kept()) == (2, 0)


async def test_another_body_under_the_same_key_is_409(retrying: Retrying) -> None:
    await retrying.send("k", {"note": "a"})
    other = await retrying.send("k", {"note": "b"}, server=1)

    assert other.status_code == 409
    assert other.json() == {"error": "This Idempotency-Key was already used with a different request"}
    assert await retrying.rows() == 1


async def test_of_equal_requests_at_once_one_runs_and_nobody_waits(retrying: Retrying) -> None:
    row = {"note": "a", "lock": GATE}
    async with closed_gate(retrying.runtime) as gate:
        sent = [asyncio.create_task(retrying.send("k", row, server=n % 2)) for n in range(16)]
        async with asyncio.timeout(60):
            while sum(each.done() for each in sent) < 15:
                await asyncio.sleep(0.01)
        refused = [each.result() for each in sent if each.done()]
        await gate.execute("select pg_advisory_unlock($1)", GATE)
        answers = await asyncio.gather(*sent)
    [won] = [answer for answer in answers if answer not in refused]

    assert won.status_code == 201
    assert {(answer.status_code, answer.json()["error"]) for answer in refused} == {
        (409, "A request with this Idempotency-Key is still in progress")
    }
    assert await retrying.rows() == 1
    assert (await retrying.send("k", row)).content == won.content


async def test_an_answer_that_is_kept_while_another_looks_is_seen_by_it(runtime: Runtime, database_url: str) -> None:
    request = read_request(caller="c", method="POST", path="/", key="k", body=b"{}")
    answer = StoredResponse(status=200, headers={}, body=b"first")
    # A try-lock that has to wait: between the look-up's snapshot and the lock the first request is committed.
    slow = await asyncpg.connect(database_url, server_settings={"search_path": "slow, public, pg_catalog"})
    async with closed_gate(runtime) as gate, runtime.pool.acquire() as first, first.transaction():
        work = Work(runtime=runtime, actor=OPERATOR, db=first, now=runtime.clock())
        assert await find_response(work, request) is None
        await store_response(work, request, answer)
        async with slow.transaction():
            other = Work(runtime=runtime, actor=OPERATOR, db=slow, now=work.now)
            looking = asyncio.create_task(find_response(other, request))
            async with asyncio.timeout(60):
                while not await gate.fetchval(WAITING, GATE):
                    await asyncio.sleep(0.01)
            await first.execute("commit and chain")
            await gate.execute("select pg_advisory_unlock($1)", GATE)
            found = await looking
    await slow.close()

    assert found == answer


async def test_quick_equal_requests_at_once_write_one_row(retrying: Retrying) -> None:
    for n in range(5):
        answers = await asyncio.gather(*(retrying.send(f"k{n}", server=each % 2) for each in range(8)))
        ran = [
            answer for answer in answers if answer.status_code == 201 and "idempotent-replayed" not in answer.headers
        ]

        assert {answer.status_code for answer in answers} <= {201, 409}
        assert len(ran) == 1
        assert await retrying.rows() == n + 1


@pytest.mark.parametrize(("ending", "status"), [("refused", 409), ("broken", 500), ("killed", 503)])
async def test_a_refusal_or_a_crash_leaves_nothing_and_the_key_stays_free(
    retrying: Retrying, ending: str, status: int
) -> None:
    failed = await retrying.send("k", {"note": "a", "ending": ending})
    left = (await retrying.rows(), await retrying.kept())
    again = await retrying.send("k", {"note": "a"})

    assert (failed.status_code, left) == (status, (0, 0))
    assert (again.status_code, await retrying.rows()) == (201, 1)


async def test_a_wrong_body_is_not_kept(retrying: Retrying) -> None:
    wrong = await retrying.send("k", {"nota": "a"})
    right = await retrying.send("k", {"note": "a"})

    assert (wrong.status_code, right.status_code) == (400, 201)


async def test_the_same_key_is_another_one_for_another_method_path_or_credential(
    retrying: Retrying, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        second, _ = await access.create_api_key(work, user, name="second")
    answers = [
        await retrying.send("k"),
        await retrying.send("k", method="PATCH", path=f"{ROWS}/1"),
        await retrying.send("k", method="PATCH", path=f"{ROWS}/2"),
        await retrying.send("k", bearer={"Authorization": f"Bearer {second}"}),
    ]

    assert [answer.status_code for answer in answers] == [201, 200, 200, 201]
    assert not [answer for answer in answers if "idempotent-replayed" in answer.headers]
    assert await retrying.rows() == 4


async def test_another_spelling_of_the_path_is_the_same_request(retrying: Retrying) -> None:
    await retrying.send("k")
    repeat = await retrying.send("k", path=f"{ROWS}/")

    assert repeat.headers["idempotent-replayed"] == "true"


async def test_a_key_may_be_any_line_of_255_characters(retrying: Retrying) -> None:
    for key in ("k", "x" * 255, "with spaces, signs: ;=/", "é", "8e03978e-40d5-43dd-bc93-6894a57f9324"):
        answers = [await retrying.send(key.encode("latin-1")) for _ in range(2)]

        assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true"], key


async def test_any_other_key_is_400(retrying: Retrying) -> None:
    for key in (b"", b"x" * 256, b"a\x85b", b"a\tb"):
        answer = await retrying.send(key)

        assert answer.status_code == 400, key
        assert answer.json()["details"] == {"Idempotency-Key": "must be 1 to 255 characters"}
    assert await retrying.rows() == 0


async def test_an_answer_is_kept_for_a_day(retrying: Retrying) -> None:
    async def let_pass(hours: float) -> None:
        await retrying.runtime.pool.execute(
            "update idempotency set created_at = created_at - $1::float8 * interval '1 hour'", hours
        )

    first = await retrying.send("k")
    await let_pass(23.9)
    repeat = await retrying.send("k")
    await let_pass(0.2)
    fresh = await retrying.send("k", {"note": "other"})
    repeat_of_fresh = await retrying.send("k", {"note": "other"})

    assert repeat.content == first.content
    assert "idempotent-replayed" not in fresh.headers
    assert repeat_of_fresh.content == fresh.content
    assert (await retrying.rows(), await retrying.kept()) == (2, 1)


async def test_what_is_kept_for_nobody_is_removed(retrying: Retrying, runtime: Runtime) -> None:
    await retrying.send("old")
    await runtime.pool.execute("update idempotency set created_at = created_at - interval '25 hours'")
    await retrying.send("young")
    forgotten = await delete_old_responses(runtime.pool, now=runtime.clock(), limit=10)

    assert (forgotten, await retrying.kept()) == (1, 1)


async def test_a_read_takes_no_notice_of_a_key(retrying: Retrying) -> None:
    headers = {**retrying.bearer, "Idempotency-Key": "x" * 300}
    answers = [await retrying.pair[0].get(ROWS, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]


async def test_a_replay_counts_against_the_limit(retrying: Retrying) -> None:
    answers = [await retrying.send("k") for _ in range(3)]

    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["59", "58", "57"]


async def test_a_kept_answer_is_sealed(retrying: Retrying, runtime: Runtime) -> None:
    first = await retrying.send("k", {"note": "a note to nobody"})
    (row,) = await runtime.pool.fetch("select * from idempotency")
    values = [value if isinstance(value, bytes) else str(value).encode() for value in row.values()]

    assert first.content
    assert not [value for value in values if first.content in value]


async def test_an_answer_outlives_the_secret_key_and_is_refused_when_its_data_key_is_lost(
    runtime: Runtime, settings: Settings
) -> None:
    request = read_request(caller="c", method="POST", path="/", key="k", body=b"{}")
    answer = StoredResponse(status=200, headers={"location": "/there"}, body=b"first")
    async with runtime.transaction(OPERATOR) as work:
        await store_response(work, request, answer)
    rotate_key_file(settings.data_dir / KEY_FILE)
    with changing_keys(settings.data_dir / KEY_FILE, lambda keys: keys[:1]):
        async with open_runtime(settings) as command:
            await reseal_all(command.pool, command.secrets, SEALED, advance=lambda _: None)
    async with open_runtime(settings) as later, later.transaction(OPERATOR) as work:
        assert await find_response(work, request) == answer
    lost = msgspec.structs.replace(settings, secret_key="l" * 40)
    assert await replace_lost_data_keys(runtime.pool, Secrets(("l" * 40,)), now=runtime.clock())

    async with open_runtime(lost) as after, after.transaction(OPERATOR) as work:
        with pytest.raises(ResponseLost):
            await find_response(work, request)
