"""Demo data: the same people every time, new keys, nothing deleted."""

import asyncpg
import httpx2
import pytest

from openslot.demo.large import make_large
from openslot.demo.seed import Seeded, seed
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.errors import UsernameAlreadyExists
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.races import OVERLAPS

MADE_ONCE = (
    *("users", "event_types", "bookings", "claims", "contacts", "messages", "calls", "memberships", "page_views"),
    *("effects", "events", "webhook_endpoints", "webhook_deliveries", "agent_calls", "agent_spend", "approvals"),
    *("payments", "refunds", "revenue"),
)


async def make(runtime: Runtime) -> Seeded:
    async with runtime.transaction(OPERATOR) as work:
        return await seed(work)


async def test_what_is_seeded_works(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    seeded = await make(runtime)
    headers = {"Authorization": f"Bearer {seeded.api_key}"}
    me = (await client.get("/api/v1/me", headers=headers)).json()
    assert (me["email"], me["plan"], me["effectivePlan"]) == (seeded.user.email, "PRO", "BUSINESS")

    for sign_in in (seeded.user, seeded.admin):
        form = {"email": sign_in.email, "password": sign_in.password}
        assert (await client.post("/login", data=form, follow_redirects=False)).status_code == 303
    listed = (await client.get("/api/v1/event-types", headers=headers)).json()
    # Nobody is promised a call without a number.
    promised = """select count(*) from event_types
        where location ->> 'kind' = 'phone' and location ->> 'value' = '' and not location ? 'asks'"""
    assert await runtime.pool.fetchval(promised) == 0
    assert {each.slug for each in seeded.event_types} <= {each["slug"] for each in listed["data"]}
    assert len(seeded.agent_keys) == 10
    assert await runtime.pool.fetchval("select sum(views) from page_views") > 1000
    for path, at_least in (("bookings", 200), ("contacts", 20), ("conversations", 3), ("calls", 4)):
        found = (await client.get(f"/api/v1/{path}", headers=headers)).json()
        assert found["pagination"]["total"] >= at_least, path


@pytest.mark.rest("seeds the demo")
async def test_a_second_run_adds_keys_and_nothing_else(runtime: Runtime) -> None:
    first = await make(runtime)
    before = [await runtime.pool.fetchval(f"select count(*) from {table}") for table in MADE_ONCE]
    # What is marked so is never mailed over SMTP.
    assert await runtime.pool.fetchval("select bool_and(coalesce((actor ->> 'is_demo')::bool, false)) from events")
    second = await make(runtime)

    assert [await runtime.pool.fetchval(f"select count(*) from {table}") for table in MADE_ONCE] == before
    assert (first.user, first.admin, first.event_types) == (second.user, second.admin, second.event_types)
    assert first.api_key != second.api_key
    assert await runtime.pool.fetchval("select count(*) from api_keys where revoked_at is null") == 2


@pytest.mark.rest("seeds the demo")
async def test_whoever_tries_the_demo_may_change_addresses(runtime: Runtime) -> None:
    first = await make(runtime)
    await runtime.pool.execute("update users set email = 'mara@new.example' where email = $1", first.user.email)
    second = await make(runtime)

    assert (second.user.email, await runtime.pool.fetchval("select count(*) from users")) == ("mara@new.example", 3)


@pytest.mark.rest("seeds the demo")
async def test_a_person_of_the_demo_who_is_gone_comes_back_under_another_username(runtime: Runtime) -> None:
    first = await make(runtime)
    await runtime.pool.execute("delete from users where email = $1", first.user.email)
    second = await make(runtime)

    find = "select username from users where email = $1"
    assert await runtime.pool.fetchval(find, second.user.email) == "mara-lindqvist"


async def test_somebody_else_with_the_name_of_a_demo_person_is_left_alone(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        harbor = await add_organization(work, name="Harbor", slug="harbor")
        other = await accounts.add_user(work, UserWanted(email="mara@real.org", name="Mara", username="mara"))
        await add_organization_member(work, harbor, other)
    with pytest.raises(UsernameAlreadyExists):
        await make(runtime)

    assert await runtime.pool.fetchval("select password_hash from users where id = $1", other.id) is None


async def test_a_large_installation_is_sound(settings: Settings, runtime: Runtime) -> None:
    connection = await asyncpg.connect(settings.database_url)
    told: list[int] = []
    hosts = await make_large(connection, hosts=4, bookings=800, now=runtime.clock(), progress=told.append)
    await connection.close()

    assert sum(told) == 804
    assert len(hosts) == 4
    assert await runtime.pool.fetchval("select count(*) from bookings") == 800
    assert await runtime.pool.fetchval(OVERLAPS) == 0
