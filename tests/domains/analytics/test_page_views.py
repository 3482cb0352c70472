"""Visits are counted by page, day and source; nobody waits for it, and nothing about visitors is kept."""

import asyncio
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import asyncpg
import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.analytics import operations, store
from openslot.domains.analytics.models import PageView
from openslot.domains.analytics.operations import tidy_views
from openslot.domains.event_types import operations as event_types
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.live import connect, serving

BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"}
TODAY = date(2027, 3, 16)


async def counts(runtime: Runtime, user: User) -> dict[tuple[UUID | None, str], int]:
    """Read all counts of a host, by page and source."""
    work = runtime.work(OPERATOR)
    listed = await operations.list_page_views(work, user, first=date(2000, 1, 1), last=date(2100, 1, 1))
    return {(each.event_type_id, each.source): each.views for each in listed}


async def eventually(runtime: Runtime, user: User, expected: dict[tuple[UUID | None, str], int]) -> None:
    """Wait for what is counted after the answer."""
    for _ in range(1000):
        if await counts(runtime, user) == expected:
            return
        await asyncio.sleep(0.02)
    assert await counts(runtime, user) == expected


async def only_event_type(runtime: Runtime, user: User) -> UUID:
    """Tell the id of the host's first event type."""
    (event_type,), _ = await event_types.list_event_types(runtime.work(OPERATOR), user)
    return event_type.id


def view(source: str, *, event_type_id: UUID | None = None, username: str = "mara", on: date = TODAY) -> PageView:
    """Make a view."""
    return PageView(username=username, event_type_id=event_type_id, on=on, source=source)


async def add(runtime: Runtime, *views: PageView, max_sources: int = 50) -> None:
    """Write views in one transaction, as one batch does."""
    async with runtime.transaction(SYSTEM) as work:
        await store.lock_views(work.db)
        await store.add_views(work.db, dict.fromkeys(views, 1), max_sources=max_sources)


async def test_visits_are_counted_by_page_and_source(client: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    event_type_id = await only_event_type(runtime, user)
    start = (await client.get("/mara/30min.json")).json()["nextSlots"][0]["startTime"]
    client.headers.update(BROWSER)
    for path, headers in (
        ("/mara", {}),
        ("/mara?utm_source=Newsletter", {}),
        ("/MARA/30min", {"referer": "https://www.search.example/?q=1"}),
        ("/mara/30min", {"referer": "https://search.example/"}),
        ("/mara/30min?embed=1&embed_origin=https://shop.example", {"sec-fetch-dest": "iframe"}),
        ("/mara/30min", {"referer": f"{client.base_url}/mara"}),
        (f"/mara/30min?utm_source=mail&start={start}", {}),
    ):
        assert (await client.get(path, headers=headers)).status_code == 200
    await eventually(
        runtime,
        user,
        {
            (None, "direct"): 1,
            (None, "newsletter"): 1,
            (event_type_id, "search.example"): 2,
            (event_type_id, "shop.example"): 1,
            (event_type_id, "internal"): 1,
            (event_type_id, "mail"): 1,
        },
    )


async def test_what_is_no_visit_is_not_counted(client: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    step = f"{client.base_url}/mara/30min".replace("//mara", "/mara")
    for path, headers in (
        ("/mara/30min", {"user-agent": "Googlebot/2.1"}),
        ("/mara/30min", {"user-agent": ""}),
        ("/mara/30min", {"sec-fetch-dest": "empty"}),
        ("/mara/30min", {"sec-purpose": "prefetch;prerender"}),
        ("/mara/30min?month=2027-03", {"referer": step}),
        ("/mara/30min?start=2027-03-16T09:00:00Z", {"referer": step}),
        ("/mara/30min?view=zones", {}),
        ("/mara/30min.md", {}),
        ("/mara/30min", {"accept": "application/json"}),
        ("/mara/nothing", {}),
        ("/nobody", {}),
    ):
        await client.get(path, headers={**BROWSER, **headers})
    await client.head("/mara/30min", headers=BROWSER)
    await client.get("/mara", headers=BROWSER)
    await eventually(runtime, user, {(None, "direct"): 1})


@pytest.mark.own_database
async def test_a_page_is_shown_even_if_nothing_can_be_counted(settings: Settings, user: User, runtime: Runtime) -> None:
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=BROWSER) as client:
        await runtime.pool.execute("alter table page_views rename to elsewhere")
        assert (await client.get("/mara")).status_code == 200
        while runtime.batcher(operations._count)._askers:
            await asyncio.sleep(0.01)
        await runtime.pool.execute("alter table elsewhere rename to page_views")
        assert (await client.get("/mara/30min")).status_code == 200
        await eventually(runtime, user, {(await only_event_type(runtime, user), "direct"): 1})


async def test_a_page_is_shown_while_the_counts_are_locked(
    client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    async with runtime.transaction(SYSTEM) as work:
        await store.lock_views(work.db)
        answers = [await client.get("/mara", headers=BROWSER) for _ in range(3)]
        assert {answer.status_code for answer in answers} == {200}
        assert await counts(runtime, user) == {}
    await eventually(runtime, user, {(None, "direct"): 3})


async def test_a_page_has_a_limited_number_of_sources_a_day(user: User, runtime: Runtime) -> None:
    event_type_id = await only_event_type(runtime, user)
    await add(runtime, view("a"), view("b"), view("c"), view("d"), max_sources=3)
    await add(runtime, view("a"), view("x"), view("y"), max_sources=3)
    await add(runtime, view("x", event_type_id=event_type_id), max_sources=3)
    await add(runtime, view("x", on=TODAY + timedelta(days=1)), max_sources=3)

    listed = await operations.list_page_views(runtime.work(OPERATOR), user, first=TODAY, last=TODAY)
    found = {(each.event_type_id, each.source): each.views for each in listed}
    assert found == {
        (None, "a"): 2,
        (None, "b"): 1,
        (None, "c"): 1,
        (None, "other"): 3,
        (event_type_id, "x"): 1,
    }


async def test_concurrent_writers_keep_the_limit_and_lose_nothing(user: User, runtime: Runtime) -> None:
    batches = [[view(f"{batch}-{n}") for n in range(10)] + [view("same")] for batch in range(8)]
    await asyncio.gather(*(add(runtime, *batch, max_sources=20) for batch in batches))

    found = await counts(runtime, user)
    assert sum(found.values()) == 88
    assert found[None, "same"] == 8
    assert len(found) == 21


async def test_an_event_type_counts_for_its_own_host_only(user: User, admin: User, runtime: Runtime) -> None:
    event_type_id = await only_event_type(runtime, user)
    await add(runtime, view("a", event_type_id=event_type_id, username="ada"), view("b", event_type_id=event_type_id))

    assert await counts(runtime, admin) == {}
    assert await counts(runtime, user) == {(event_type_id, "b"): 1}


async def test_views_of_pages_that_are_gone_are_dropped(user: User, runtime: Runtime) -> None:
    await add(runtime, view("a", username="nobody"), view("a", event_type_id=new_id()), view("a"))

    assert await counts(runtime, user) == {(None, "a"): 1}


async def test_counts_go_with_their_page_and_their_host(user: User, runtime: Runtime) -> None:
    event_type_id = await only_event_type(runtime, user)
    await add(runtime, view("a"), view("b", event_type_id=event_type_id))
    await runtime.pool.execute("delete from event_types where id = $1", event_type_id)
    assert await counts(runtime, user) == {(None, "a"): 1}
    await runtime.pool.execute("delete from users where id = $1", user.id)
    assert await runtime.pool.fetchval("select count(*) from page_views") == 0


async def test_another_hosts_counts_are_not_shown(user: User, admin: User, runtime: Runtime) -> None:
    await add(runtime, view("a"), view("b", username="ada"))

    assert await counts(runtime, user) == {(None, "a"): 1}
    assert await counts(runtime, admin) == {(None, "b"): 1}


@pytest.mark.parametrize(("age", "is_kept"), [(761, True), (763, False)])
async def test_old_counts_are_removed(user: User, runtime: Runtime, age: int, is_kept: bool) -> None:
    await add(runtime, view("a", on=datetime.now(UTC).date() - timedelta(days=age)))
    await tidy_views(runtime.work(SYSTEM))

    assert bool(await counts(runtime, user)) is is_kept


async def test_too_many_waiting_views_are_dropped(user: User, runtime: Runtime) -> None:
    for _ in range(operations.MAX_WAITING + 500):
        operations.count_view(runtime, view("a"))
    await eventually(runtime, user, {(None, "a"): operations.MAX_WAITING})


async def test_a_source_is_never_long(user: User, runtime: Runtime) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await add(runtime, view("a" * 61))
