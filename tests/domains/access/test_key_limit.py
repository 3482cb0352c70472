"""The limit of a key: 60 in any 60 seconds, exactly, whatever the number of processes."""

import asyncio
from collections import Counter
from math import ceil

import httpx2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as fuzzing
from hypothesis import strategies as st

from openslot.domains.access.limits import operations as limits
from openslot.domains.access.limits import store as limit_store
from openslot.domains.access.models import seconds_until
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.access.conftest import Age
from tests.support.parts import how_many

ME = "/api/v1/me"
ROUNDS = how_many(3, long=30)
# Not the product's own: a clock that is read wrongly must not measure itself.
NOW = "select (date_part('epoch', clock_timestamp()) * 1000000)::bigint"
Pair = tuple[httpx2.AsyncClient, httpx2.AsyncClient]


async def test_sixty_at_once_pass_and_the_next_is_429(pair: Pair, bearer: dict[str, str], age: Age) -> None:
    answers = await asyncio.gather(*(pair[n % 2].get(ME, headers=bearer) for n in range(60)))
    refused = await pair[0].get(ME, headers=bearer)

    assert Counter(answer.status_code for answer in answers) == {200: 60}
    assert sorted(int(answer.headers["ratelimit-remaining"]) for answer in answers) == list(range(60))
    assert {answer.headers["ratelimit-limit"] for answer in answers} == {"60"}
    assert refused.status_code == 429
    assert refused.json() == {"error": "Too many requests"}
    assert refused.headers["ratelimit-remaining"] == "0"
    assert refused.headers["ratelimit-reset"] == refused.headers["retry-after"]

    await age(int(refused.headers["retry-after"]))
    assert (await pair[1].get(ME, headers=bearer)).status_code == 200


async def test_of_a_hundred_at_once_exactly_sixty_pass(pair: Pair, runtime: Runtime, bearer: dict[str, str]) -> None:
    for _ in range(ROUNDS):
        answers = await asyncio.gather(*(pair[n % 2].get(ME, headers=bearer) for n in range(100)))
        await runtime.pool.execute("delete from rate_log")

        assert Counter(answer.status_code for answer in answers) == {200: 60, 429: 40}


async def test_every_keyed_answer_tells_where_the_key_stands(
    client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    asked = [("GET", ME), ("GET", "/api/v1/nowhere"), ("DELETE", ME), ("POST", "/api/v1/nowhere")]
    answers = [await client.request(method, path, headers=bearer) for method, path in asked]

    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["59", "58", "57", "56"]
    assert {answer.headers["ratelimit-limit"] for answer in answers} == {"60"}
    assert all(1 <= int(answer.headers["ratelimit-reset"]) <= 60 for answer in answers)


async def test_an_answer_without_a_key_tells_of_no_limit(client: httpx2.AsyncClient) -> None:
    answers = [await client.get(path) for path in (ME, "/healthz")]

    assert not [name for answer in answers for name in answer.headers if name.startswith("ratelimit")]


async def test_each_key_has_a_limit_of_its_own(runtime: Runtime) -> None:
    buckets = [f"key:{new_id()}" for _ in range(2)]
    verdicts = [await limits.take_from_bucket(runtime.pool, bucket, 1) for bucket in (*buckets, *buckets)]

    assert [verdict.taken for verdict in verdicts] == [True, True, False, False]


@pytest.mark.parametrize(
    ("instant", "now", "seconds"),
    [(60_000_000, 0, 60), (60_000_001, 0, 61), (1, 0, 1), (0, 0, 1), (0, 5, 1), (59_999_999, 0, 60), (500_000, 0, 1)],
)
def test_retry_after_is_the_first_whole_second_that_is_enough(instant: int, now: int, seconds: int) -> None:
    assert seconds_until(instant, now) == seconds


async def test_retry_after_is_right_to_the_second(runtime: Runtime, age: Age) -> None:
    bucket = f"key:{new_id()}"
    for _ in range(3):
        await limits.take_from_bucket(runtime.pool, bucket, 3)
        await age(7.3)
    oldest = await runtime.pool.fetchval("select stamps[1] from rate_log where bucket = $1", bucket)
    before = await runtime.pool.fetchval(NOW)
    refused = await limits.take_from_bucket(runtime.pool, bucket, 3)
    after = await runtime.pool.fetchval(NOW)
    earliest, latest = (ceil((oldest + limit_store.WINDOW - now) / 1_000_000) for now in (after, before))

    assert earliest <= refused.retry_after <= latest
    await age(refused.retry_after)
    assert (await limits.take_from_bucket(runtime.pool, bucket, 3)).taken


async def test_a_lowered_limit_waits_for_as_many_places_as_it_needs(runtime: Runtime, age: Age) -> None:
    bucket = f"key:{new_id()}"
    for _ in range(10):
        await limits.take_from_bucket(runtime.pool, bucket, 10)
        await age(3)
    refused = await limits.take_from_bucket(runtime.pool, bucket, 4)
    await age(refused.retry_after)

    assert not refused.taken
    assert (await limits.take_from_bucket(runtime.pool, bucket, 4)).taken


@fuzzing(
    max_examples=how_many(10, long=100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(gaps=st.lists(st.sampled_from([0.0, 0.1, 1.0, 9.7, 19.9, 29.5, 30.5, 59.9, 60.1]), max_size=25))
async def test_never_more_than_the_limit_in_any_minute_and_never_less_without_need(
    runtime: Runtime, gaps: list[float]
) -> None:
    bucket, limit, aged, passed = f"key:{new_id()}", 4, 0, list[int]()
    for gap in gaps:
        aged += int(gap * 1_000_000)
        await runtime.pool.execute(
            "update rate_log set stamps = array(select s - $2::bigint from unnest(stamps) s) where bucket = $1",
            bucket,
            int(gap * 1_000_000),
        )
        asked = await runtime.pool.fetchval(NOW) + aged
        verdict = await limits.take_from_bucket(runtime.pool, bucket, limit)
        if verdict.taken:
            passed.append(
                await runtime.pool.fetchval("select max(s) from rate_log, unnest(stamps) s where bucket = $1", bucket)
                + aged
            )
        else:
            assert len([at for at in passed if at > asked - limit_store.WINDOW]) >= limit

    assert all(later - earlier >= limit_store.WINDOW for earlier, later in zip(passed, passed[limit:], strict=False))


async def test_a_place_counts_from_when_it_is_given_not_from_when_it_was_asked_for(
    client: httpx2.AsyncClient, runtime: Runtime, bearer: dict[str, str]
) -> None:
    await client.get(ME, headers=bearer)
    async with runtime.pool.acquire() as holder, holder.transaction():
        await holder.execute("update rate_log set taken = taken")
        waiting = asyncio.create_task(client.get(ME, headers=bearer))
        await asyncio.sleep(0.5)
        still_held = await holder.fetchval(NOW)
    answer = await waiting
    given_at = await runtime.pool.fetchval("select stamps[cardinality(stamps)] from rate_log")

    assert answer.status_code == 200
    assert given_at > still_held


async def test_old_logs_are_forgotten_and_young_ones_are_not(runtime: Runtime, age: Age) -> None:
    await limits.take_from_bucket(runtime.pool, "key:old", 5)
    await age(121)
    await limits.take_from_bucket(runtime.pool, "key:young", 5)
    forgotten = await limit_store.forget_old_logs(runtime.pool, behind="", limit=10)

    assert forgotten == (1, None)
    assert await runtime.pool.fetchval("select array_agg(bucket) from rate_log") == ["key:young"]


@pytest.mark.parametrize("step", [90, 3_600, 86_400])
async def test_a_clock_that_is_set_back_blocks_nobody_for_longer_than_two_minutes(
    runtime: Runtime, age: Age, step: int
) -> None:
    bucket = f"key:{new_id()}"
    for _ in range(3):
        await limits.take_from_bucket(runtime.pool, bucket, 3)
    await age(-step)
    verdicts = [await limits.take_from_bucket(runtime.pool, bucket, 3) for _ in range(4)]
    stamps = await runtime.pool.fetchval("select stamps from rate_log where bucket = $1", bucket)

    assert [verdict.taken for verdict in verdicts] == [True, True, True, False]
    assert verdicts[-1].retry_after <= 60
    assert stamps == sorted(stamps)


async def test_a_clock_that_is_set_back_a_little_lets_nobody_through_twice(runtime: Runtime, age: Age) -> None:
    bucket = f"key:{new_id()}"
    await limits.take_from_bucket(runtime.pool, bucket, 2)
    await age(-30)
    verdicts = [await limits.take_from_bucket(runtime.pool, bucket, 2) for _ in range(2)]
    stamps = await runtime.pool.fetchval("select stamps from rate_log where bucket = $1", bucket)

    assert [verdict.taken for verdict in verdicts] == [True, False]
    assert 60 < verdicts[-1].retry_after <= 90
    assert stamps == sorted(stamps)


async def test_logs_of_a_clock_that_was_set_back_are_forgotten(runtime: Runtime, age: Age) -> None:
    await limits.take_from_bucket(runtime.pool, "key:ahead", 5)
    await age(-3_600)
    await limits.take_from_bucket(runtime.pool, "key:young", 5)

    assert await limit_store.forget_old_logs(runtime.pool, behind="", limit=10) == (1, None)
    assert await runtime.pool.fetchval("select array_agg(bucket) from rate_log") == ["key:young"]
