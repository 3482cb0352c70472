"""Tools: figures about the platform, each equal to a count by hand, whether its days are kept or not."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import product
from uuid import uuid4

import pytest

from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.analytics.platform import keep_days
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Runtime
from tests.doors.agents.tools.conftest import Run
from tests.support.clocks import MovingClock
from tests.support.platform_facts import Host, add_booking, add_host, add_revenue, add_views, erase

NOW = datetime(2026, 4, 6, 12, tzinfo=UTC)
TODAY = NOW.date()
# The change to summer time is on 29 March, the end of the month two days later.
MOMENTS = [
    datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 3, 1, 0, 0, tzinfo=UTC),
    datetime(2026, 3, 28, 23, 30, tzinfo=UTC),
    datetime(2026, 3, 29, 0, 59, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    datetime(2026, 3, 29, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 3, 30, 0, 0, tzinfo=UTC),
    datetime(2026, 3, 31, 22, 30, tzinfo=UTC),
    datetime(2026, 3, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 4, 1, 0, 0, tzinfo=UTC),
    datetime(2026, 4, 5, 23, 0, tzinfo=UTC),
    datetime(2026, 4, 6, 0, 0, tzinfo=UTC),
    datetime(2026, 4, 6, 11, 59, tzinfo=UTC),
]
RANGE = {"from": "2026-02-20", "to": "2026-04-12"}
FIRST, LAST = date(2026, 2, 20), date(2026, 4, 12)
FIGURES = ("bookings", "cancellations", "meetings", "noShows")


async def fill(runtime: Runtime, clock: MovingClock) -> dict[str, Host]:
    """Write what happened to three hosts, of whom one is deleted in the end."""
    clock.now = NOW
    ana = await add_host(runtime, clock, "ana", at=datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC))
    ben = await add_host(runtime, clock, "ben", at=datetime(2026, 3, 29, 1, 0, tzinfo=UTC))
    gone = await add_host(runtime, clock, "gone", at=datetime(2026, 3, 1, tzinfo=UTC))
    for place, at in enumerate(MOMENTS):
        for host in (ana, gone) if place % 3 else (ana, ben, gone):
            await add_booking(
                runtime,
                host,
                made_at=at,
                starts_at=MOMENTS[-1 - place] + timedelta(hours=1),
                status=("CONFIRMED", "CONFIRMED", "CANCELLED", "PENDING_PAYMENT")[place % 4],
                cancelled_at=at + timedelta(hours=2),
                source=(None, "direct", "example.com")[place % 3],
                no_show=place % 5 == 0,
            )
            await add_revenue(runtime, host, at.date(), ("EUR", "JPY")[place % 2], received=100 + place)
            await add_views(runtime, host, at.date(), ("direct", "internal", "example.com")[place % 3], 1 + place)
    await add_views(runtime, ana, date(2026, 4, 1), "direct", 40, of_type=True)
    await add_revenue(runtime, ana, date(2026, 4, 2), refunded=5000)
    await add_revenue(runtime, ben, date(2026, 4, 2), mode="test", received=7)
    return {"ana": ana, "ben": ben, "gone": gone}


@pytest.fixture(
    params=[
        "counted now",
        pytest.param("kept", marks=pytest.mark.rest("reads what is kept as the next one does")),
        "kept before the account was deleted",
    ]
)
async def hosts(request: pytest.FixtureRequest, runtime: Runtime, clock: MovingClock) -> dict[str, Host]:
    """The platform after one account was deleted, with and without days that were kept."""
    filled = await fill(runtime, clock)
    if request.param == "kept before the account was deleted":
        await keep_days(runtime.work(SYSTEM))
    await erase(runtime, filled["gone"])
    if request.param == "kept":
        await keep_days(runtime.work(SYSTEM))
    return filled


def begin(on: date, step: str) -> date:
    if step == "week":
        on -= timedelta(days=on.weekday())
    return max(FIRST, on.replace(day=1) if step == "month" else on)


async def count_bookings(runtime: Runtime, condition: str = "true") -> dict[str, Counter[date]]:
    """Count in Python what each booking is counted for."""
    counted = {name: Counter[date]() for name in FIGURES}
    for row in await runtime.pool.fetch(f"select * from bookings b where {condition}"):
        moments = {
            "bookings": row["created_at"] if row["status"] != "PENDING_PAYMENT" else None,
            "cancellations": row["cancelled_at"],
            "meetings": row["starts_at"] if row["status"] == "CONFIRMED" else None,
            "noShows": row["starts_at"] if row["status"] == "CONFIRMED" and row["no_show"] else None,
        }
        for name, at in moments.items():
            if at is not None and FIRST <= at.astimezone(UTC).date() <= LAST:
                counted[name][at.astimezone(UTC).date()] += 1
    return counted


async def test_booking_metrics(run: Run, runtime: Runtime, hosts: dict[str, Host]) -> None:
    for step, chosen in product(("day", "week", "month"), (None, "ana")):
        await check_booking_metrics(run, runtime, hosts, step, chosen)


async def check_booking_metrics(
    run: Run, runtime: Runtime, hosts: dict[str, Host], step: str, chosen: str | None
) -> None:
    only = {"eventTypeId": str(hosts[chosen].event_type.id)} if chosen else {}
    condition = f"event_type_id = '{only['eventTypeId']}'" if only else "true"
    by_hand = await count_bookings(runtime, condition)

    found = await run("get_booking_metrics", **RANGE, **only, granularity=step)

    assert {name: found[name] for name in FIGURES} == {name: by_hand[name].total() for name in FIGURES}
    for name in FIGURES:
        expected = Counter[str]()
        for on, count in by_hand[name].items():
            expected[str(begin(on, step))] += count
        assert {part["from"]: part[name] for part in found["data"] if part[name]} == expected, name
        assert expected
    # The parts are the whole range, without gaps.
    assert (found["data"][0]["from"], found["data"][-1]["to"]) == (RANGE["from"], RANGE["to"])
    ends = [date.fromisoformat(part["to"]) + timedelta(days=1) for part in found["data"][:-1]]
    assert ends == [date.fromisoformat(part["from"]) for part in found["data"][1:]]


async def test_booking_metrics_of_no_event_type(run: Run) -> None:
    with pytest.raises(NotFound) as refusal:
        await run("get_booking_metrics", eventTypeId=str(uuid4()))
    assert refusal.value.details == {"eventTypeId": "does not exist"}


@pytest.mark.usefixtures("hosts")
async def test_revenue(run: Run, runtime: Runtime) -> None:
    for step in ("day", "month"):
        await check_revenue(run, runtime, step)


async def check_revenue(run: Run, runtime: Runtime, step: str) -> None:
    expected: dict[tuple[str, str, str], Counter[str]] = {}
    for row in await runtime.pool.fetch("select * from revenue"):
        key = str(begin(row["day"], step)), row["mode"], row["currency"]
        expected.setdefault(key, Counter()).update({n: row[n] for n in ("received", "refunded", "payments")})

    found = await run("get_revenue", **RANGE, granularity=step)

    shown = {
        (part["from"], money["mode"], money["currency"]): money for part in found["data"] for money in part["revenue"]
    }
    assert set(shown) == set(expected)
    for key, amounts in expected.items():
        net = amounts["received"] - amounts["refunded"]
        assert shown[key] == {"mode": key[1], "currency": key[2], "net": net, **amounts}
    totals = {(each["currency"], each["mode"]): each["net"] for each in found["totals"]}
    assert totals.keys() == {("EUR", "live"), ("JPY", "live"), ("EUR", "test")}
    assert totals["EUR", "live"] == sum(
        amounts["received"] - amounts["refunded"] for key, amounts in expected.items() if key[1:] == ("live", "EUR")
    )
    assert totals["EUR", "live"] < 0 < totals["EUR", "test"]


@pytest.mark.usefixtures("hosts")
async def test_traffic(run: Run, runtime: Runtime) -> None:
    for source in (None, "direct", "internal", "nowhere.example"):
        await check_traffic(run, runtime, source)


async def check_traffic(run: Run, runtime: Runtime, source: str | None) -> None:
    visits, booked, sources = Counter[str](), Counter[str](), dict[str, list[int]]()
    for row in await runtime.pool.fetch("select * from page_views"):
        if source in (None, row["source"]):
            sources.setdefault(row["source"], [0, 0])[0] += row["views"]
            if source or row["source"] != "internal":
                visits[str(row["on_day"])] += row["views"]
    for row in await runtime.pool.fetch("select * from bookings where status <> 'PENDING_PAYMENT'"):
        if row["source"] is not None and source in (None, row["source"]):
            sources.setdefault(row["source"], [0, 0])[1] += 1
            booked[str(row["created_at"].astimezone(UTC).date())] += 1

    found = await run("get_traffic", **RANGE, **({"source": source} if source else {}))

    assert (found["visits"], found["bookings"]) == (visits.total(), booked.total())
    assert {part["from"]: part["visits"] for part in found["data"] if part["visits"]} == visits
    assert {part["from"]: part["bookings"] for part in found["data"] if part["bookings"]} == booked
    assert {each["source"]: [each["visits"], each["bookings"]] for each in found["sources"]} == sources
    assert [each["visits"] for each in found["sources"]] == sorted((v for v, _ in sources.values()), reverse=True)


@pytest.mark.usefixtures("hosts")
async def test_the_dashboard_compares_a_period_with_the_one_before(run: Run, runtime: Runtime) -> None:
    for period, days in {"today": 1, "7d": 7, "30d": 30, "90d": 90, None: 30}.items():
        await check_dashboard(run, runtime, period, days)


async def check_dashboard(run: Run, runtime: Runtime, period: str | None, days: int) -> None:
    bookings = await runtime.pool.fetch("select * from bookings")
    users = await runtime.pool.fetch("select * from users")
    views = await runtime.pool.fetch("select * from page_views where source <> 'internal'")
    money = await runtime.pool.fetch("select * from revenue")

    def count(first: date, last: date) -> dict[str, int]:
        def within(at: datetime | None) -> bool:
            return at is not None and first <= at.astimezone(UTC).date() <= last

        made = [row for row in bookings if row["status"] != "PENDING_PAYMENT" and within(row["created_at"])]
        met = [row for row in bookings if row["status"] == "CONFIRMED" and within(row["starts_at"])]
        return {
            "bookings": len(made),
            "cancellations": sum(within(row["cancelled_at"]) for row in bookings),
            "meetings": len(met),
            "noShows": sum(row["no_show"] for row in met),
            "signUps": sum(within(row["created_at"]) for row in users),
            "activeHosts": len({row["host_id"] for row in made}),
            "visits": sum(row["views"] for row in views if first <= row["on_day"] <= last),
        }

    found = await run("get_kpi_dashboard", **({"period": period} if period else {}))

    first, before = TODAY - timedelta(days=days - 1), TODAY - timedelta(days=2 * days - 1)
    now, previous = count(first, TODAY), count(before, first - timedelta(days=1))
    for name, value in now.items():
        assert found[name] == {"value": value, "previous": previous[name]}, name
    assert (found["from"], found["to"], found["previous"]["from"]) == (str(first), str(TODAY), str(before))
    for name, begins, ends in (("revenue", first, TODAY), ("previousRevenue", before, first - timedelta(days=1))):
        net = Counter[tuple[str, str]]()
        for row in money:
            if begins <= row["day"] <= ends:
                net[row["currency"], row["mode"]] += row["received"] - row["refunded"]
        assert {(each["currency"], each["mode"]): each["net"] for each in found[name]} == net


async def test_the_signup_funnel(run: Run, runtime: Runtime, clock: MovingClock) -> None:
    clock.now = NOW
    await runtime.pool.execute(
        "insert into funnel_visits values ('2026-03-31', 30), ('2026-04-01', 10), ('2026-03-01', 9)"
    )
    for step, times in {"signed_up": 4, "verified": 3, "first_booking": 1}.items():
        for number in range(times):
            at = datetime(2026, 3, 31, 23, 59, 59, 999_999, tzinfo=UTC) + timedelta(hours=number)
            await runtime.pool.execute("insert into funnel_steps values (gen_random_uuid(), $1, $2)", step, at)

    found = await run("get_signup_funnel", **{"from": "2026-03-31", "to": "2026-04-01"})
    assert [(each["step"], each["count"], each["ofHundred"]) for each in found["steps"]] == [
        ("visited", 40, 100.0),
        ("signed_up", 4, 10.0),
        ("verified", 3, 7.5),
        ("calendar_connected", 0, 0.0),
        ("event_type_made", 0, 0.0),
        ("first_booking", 1, 2.5),
    ]
    found = await run("get_signup_funnel", **{"from": "2026-03-31", "to": "2026-03-31"})
    assert [each["count"] for each in found["steps"]] == [30, 1, 1, 0, 0, 1]
    found = await run("get_signup_funnel", **{"from": "2025-01-01", "to": "2025-01-02"})
    assert [(each["count"], each["ofHundred"]) for each in found["steps"]] == [(0, None)] * 6


@pytest.mark.usefixtures("hosts")
async def test_retention(run: Run, runtime: Runtime) -> None:
    for cohort in ("week", "month"):
        await check_retention(run, runtime, cohort)


async def check_retention(run: Run, runtime: Runtime, cohort: str) -> None:
    users = await runtime.pool.fetch("select id, (created_at at time zone 'UTC')::date as day from users")
    rows = await runtime.pool.fetch(
        "select host_id, (created_at at time zone 'UTC')::date as day from bookings where status <> 'PENDING_PAYMENT'"
    )
    last = date(2026, 4, 1)

    found = await run("get_retention", **{"from": str(FIRST), "to": str(last)}, cohort=cohort)

    expected = {}
    for on in {begin(each["day"], cohort) for each in users if FIRST <= each["day"] <= last}:
        group = {each["id"] for each in users if begin(each["day"], cohort) == on}
        active = Counter(
            period
            for period, _ in {(begin(row["day"], cohort), row["host_id"]) for row in rows if row["host_id"] in group}
        )
        expected[str(on)] = len(group), {str(period): hosts for period, hosts in active.items() if period >= on}
    shown = {
        each["from"]: (each["users"], {p["from"]: p["active"] for p in each["periods"] if p["active"]})
        for each in found["data"]
        if each["users"]
    }
    assert shown == expected
    assert any(len(periods) > 1 for _, periods in expected.values())
    for each in found["data"]:
        assert [period["number"] for period in each["periods"]] == list(range(len(each["periods"])))
        assert each["periods"][-1]["to"] == str(TODAY)
        for period in each["periods"]:
            assert period["percent"] == (round(100 * period["active"] / each["users"], 1) if each["users"] else 0)


async def test_retention_shows_the_last_weeks_or_months_by_default(run: Run, clock: MovingClock) -> None:
    clock.now = NOW
    weeks, months = await run("get_retention"), await run("get_retention", cohort="month")

    assert [each["from"] for each in weeks["data"]] == [str(date(2026, 1, 19) + timedelta(weeks=n)) for n in range(12)]
    assert [each["from"][:7] for each in months["data"]] == [
        "2025-11",
        "2025-12",
        "2026-01",
        "2026-02",
        "2026-03",
        "2026-04",
    ]


async def test_the_plan_distribution(run: Run, runtime: Runtime, clock: MovingClock) -> None:
    clock.now = NOW
    names = ("free", "pro", "lapsed", "trial", "tried", "member", "left")
    users = {name: (await add_host(runtime, clock, name, at=NOW)).user for name in names}
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Club", slug="club", plan=Plan.BUSINESS)
        for name in ("member", "left"):
            await members.add_organization_member(work, organization, users[name])
        set_plan = "update users set plan = $2, plan_until = $3, trial_plan = $4, trial_until = $5 where id = $1"
        hour = timedelta(hours=1)
        for name, plans in {
            "pro": ("PRO", NOW + hour, None, None),
            "lapsed": ("BUSINESS", NOW - hour, None, None),
            "trial": ("PRO", None, "BUSINESS", NOW + hour),
            "tried": ("FREE", None, "PRO", NOW - hour),
        }.items():
            await work.db.execute(set_plan, users[name].id, *plans)
        await work.db.execute("update memberships set active = false where user_id = $1", users["left"].id)
        await work.db.execute(
            """insert into subscribers (id, user_id, mode, subscription_id, plan, status, created_at, updated_at)
            values (gen_random_uuid(), $1, 'live', 'sub_1', 'PRO', 'active', $2, $2)""",
            users["pro"].id,
            NOW,
        )

    found = await run("get_plan_distribution")

    assert found["total"] == len(names)
    assert found["plans"] == [
        {"plan": "FREE", "users": 4, "own": 4, "onTrial": 0},
        {"plan": "PRO", "users": 1, "own": 2, "onTrial": 0},
        {"plan": "BUSINESS", "users": 2, "own": 1, "onTrial": 1},
    ]
    assert found["subscriptions"] == [{"plan": "PRO", "status": "active", "mode": "live", "subscriptions": 1}]


async def test_top_event_types(run: Run, runtime: Runtime, hosts: dict[str, Host]) -> None:
    ana, ben = hosts["ana"], hosts["ben"]
    found = await run("get_top_event_types", **RANGE)

    by_hand = await runtime.pool.fetch(
        """select event_type_id::text as id, count(*) as count from bookings where status <> 'PENDING_PAYMENT'
        group by 1 order by 2 desc"""
    )
    assert [(each["eventTypeId"], each["bookings"]) for each in found["data"]] == [tuple(row) for row in by_hand]
    assert [(each["slug"], each["userId"], each["visits"]) for each in found["data"]] == [
        ("of-ana", str(ana.user.id), 40),
        ("of-ben", str(ben.user.id), 0),
    ]
    assert len((await run("get_top_event_types", **RANGE, limit=1))["data"]) == 1
    assert (await run("get_top_event_types", **{"from": "2025-01-01", "to": "2025-12-31"}))["data"] == []
