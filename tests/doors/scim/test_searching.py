"""Filters against a database: users whom a plain evaluation finds, no fault, no injection; more with OPENSLOT_LONG."""

import random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, UserWanted
from openslot.doors.scim.errors import InvalidFilter
from openslot.doors.scim.filters import Filter, parse_filter
from openslot.doors.scim.operations import list_users
from openslot.doors.scim.resources import derive_user, read_user
from openslot.doors.scim.store import Condition, write_search
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.work import Runtime, Work
from tests.doors.scim.strategies import SUPPORTED
from tests.doors.scim.writing import judge, write
from tests.support.hangs import within_a_second
from tests.support.parts import how_many

ASKED, HOSTILE = how_many(120, long=1000), how_many(2_500, long=10_000)
NAMES = ["userName", "USERNAME", "emails.value", "emails", "displayName", "externalId", "id", "active"]
TEXTS = [
    '"mara@harbor.example"',
    '"a"',
    '"M"',
    '"\'"',
    '"%"',
    '"\\""',
    '"\\u0000"',
    '"\\ud800"',
    '"$1"',
    '"{}"',
    '"\\\\"',
]
INJECTED = ['"\'; drop table users; --"', '"\') or true --"', '"{value}"']
WORDS = (
    "title name.givenName emails[ ] ( ) and or not eq EQ co sw ne ew pr gt true false null 1 -1.5 type primary .value"
)
SIGNS = ["'", '"', "$1", "--", "/*", "{value}", "\\", "urn:ietf:params:scim:schemas:core:2.0:User:userName"]
PIECES = [*NAMES, *TEXTS, *INJECTED, *WORDS.split(), *SIGNS]


def provider_of(runtime: Runtime, organization: Organization) -> Work:
    return runtime.work(Actor(kind=ActorKind.SCIM, organization_id=organization.id))


async def add(runtime: Runtime, organization: Organization, user: dict[str, Any], n: int) -> dict[str, Any]:
    """Take a user in: every third as an account that no provider has described."""
    async with runtime.transaction(OPERATOR) as work:
        email = f"{n}.{user['userName']}"
        account = await accounts.add_user(work, UserWanted(email=email, name=f"Name {n} ü"))
        if n % 3 == 0:
            await add_organization_member(work, organization, account, active=user["active"])
            return {**derive_user(email=account.email, name=account.name), "active": user["active"]}
        profile = {**read_user(user), "userName": email}
        active = profile.pop("active")
        await members.add_described_member(work, organization, account, profile=profile, said_active=active)
        return {**profile, "active": active}


@pytest.fixture
async def crowd(runtime: Runtime, organization: Organization) -> dict[UUID, dict[str, Any]]:
    """Users of all shapes, by the id of their membership."""
    users = [await add(runtime, organization, _user(random.Random(n)), n) for n in range(24)]
    rows = await runtime.pool.fetch("select id from memberships order by id")
    return {row["id"]: user for row, user in zip(rows, users, strict=True)}


def _user(chance: random.Random) -> dict[str, Any]:
    texts = ["abc", "ABC", "a c", "X.9", "'%_", 'q"\\', "ü@", "abcX"]
    user: dict[str, Any] = {
        "userName": f"{chance.choice('abM')}{chance.choice('bc')}@{chance.choice(['harbor', 'Okafor'])}.example",
        "active": chance.random() < 0.7,
    }
    for name in ("externalId", "displayName"):
        if chance.random() < 0.7:
            user[name] = chance.choice(texts)
    emails = [
        {"value": f"{chance.choice('abM')}@{chance.choice(['harbor', 'okafor'])}.example", "type": kind}
        for kind in ("work", "home", "other")
        if chance.random() < 0.5
    ]
    return {**user, **({"emails": emails} if emails else {})}


async def test_a_filter_finds_whom_a_plain_evaluation_finds(
    runtime: Runtime, organization: Organization, crowd: dict[UUID, dict[str, Any]]
) -> None:
    work = provider_of(runtime, organization)
    asked: list[Filter] = []

    @given(SUPPORTED)
    @hypothesis_settings(max_examples=ASKED, deadline=None, suppress_health_check=list(HealthCheck))
    def collect(term: Filter) -> None:
        asked.append(term)

    collect()
    found_any = 0
    for term in asked:
        with within_a_second(term):
            rows, total = await list_users(work, filter_=write(term), start=1, count=200)
        wanted = [member_id for member_id, user in crowd.items() if judge(user, term)]
        assert [row["id"] for row in rows] == wanted, write(term)
        assert total == len(wanted)
        found_any += bool(wanted)
    assert len(asked) >= ASKED
    # The terms are random: usually one in six finds someone.
    assert found_any >= ASKED // 40


async def test_no_filter_causes_a_fault_or_reaches_anybody_else(
    runtime: Runtime, organization: Organization, crowd: dict[UUID, dict[str, Any]]
) -> None:
    work, chance = provider_of(runtime, organization), random.Random(13)
    outside = await runtime.pool.fetchval("select count(*) from users")
    refused = answered = 0
    for _ in range(HOSTILE):
        if chance.random() < 0.3:
            text = f"{chance.choice(NAMES)} {chance.choice(['eq', 'co', 'SW'])} {chance.choice([*TEXTS, *INJECTED])}"
        else:
            text = " ".join(chance.choice(PIECES) for _ in range(chance.randint(1, 9)))
        try:
            with within_a_second(text):
                rows, _ = await list_users(work, filter_=text, start=1, count=200)
        except InvalidFilter:
            refused += 1
        else:
            answered += 1
            assert {row["id"] for row in rows} <= crowd.keys()
    assert (refused > HOSTILE // 2, answered > HOSTILE // 20) == (True, True)
    assert await runtime.pool.fetchval("select count(*) from users") == outside


# What other tests have left in the statistics may change the plan.
@pytest.mark.own_database
async def test_the_name_that_providers_ask_for_is_found_by_an_index(
    runtime: Runtime, organization: Organization, crowd: dict[UUID, dict[str, Any]]
) -> None:
    assert crowd
    condition = Condition(parse_filter('userName eq "x"'))
    statement = write_search(condition.sql, limit=3, offset=4)
    rows = await runtime.pool.fetch(f"explain {statement}", organization.id, "x", 10, 0)
    plan = "\n".join(row[0] for row in rows)  # type: ignore[index]

    assert "member_profiles_user_name" in plan
    assert "users_email" in plan
    assert "Seq Scan" not in plan
