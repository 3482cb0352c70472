"""The sign-up funnel counts visits by day, and each step of an account that came by the form once."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import httpx2
import pytest
from msgspec.structs import replace

from openslot.demo.seed import seed
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.analytics import funnel
from openslot.domains.analytics.funnel import read_funnel
from openslot.domains.analytics.models import FunnelStep
from openslot.domains.analytics.operations import KEPT_FOR, tidy_views
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.calendars.events import CalendarConnected
from openslot.domains.people import operations
from openslot.domains.people import operations as people
from openslot.platform.core.actor import DEMO, OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.clocks import MONDAY, MovingClock, clock

__all__ = ["clock"]

BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"}
FIRST, LAST = date(2026, 1, 1), date(2027, 12, 31)
NOTHING = dict.fromkeys(FunnelStep, 0)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Give the settings of an installation that anyone may sign up to."""
    return replace(settings, sign_up="open")


async def total(runtime: Runtime) -> dict[FunnelStep, int]:
    return (await read_funnel(runtime.work(OPERATOR), first=FIRST, last=LAST)).total


async def until_visited(runtime: Runtime, count: int) -> None:
    """Go on as soon as so many visits are counted, which happens after the answer."""
    async with asyncio.timeout(60):
        while (await total(runtime))[FunnelStep.VISITED] < count:
            await asyncio.sleep(0.02)


def steps(**counts: int) -> dict[FunnelStep, int]:
    return {**NOTHING, **{FunnelStep(name): count for name, count in counts.items()}}


async def sign_up(runtime: Runtime, password_hash: str, email: str = "noor@haddad.example") -> str:
    wanted = UserWanted(email=email, name="Noor Haddad")
    async with runtime.transaction(PUBLIC) as work:
        made = await sign_ups.request_sign_up(work, wanted, password_hash=password_hash, browser="cookie")
    return sign_ups.sign_up_token(runtime, made.id)


async def open_account(runtime: Runtime, token: str) -> User:
    opened = await operations.verify_sign_up(
        runtime.work(PUBLIC), token, browser="cookie", password="", address="192.0.2.1", user_agent=""
    )
    return opened.user


async def connect_calendar(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.record(CalendarConnected(connection_id=new_id(), owner_id=user.id, label="Work"))


async def book(runtime: Runtime, user: User, hour: int) -> None:
    wanted = BookingWanted(
        which=BySlug(user.id, "30min"),
        starts_at=MONDAY.replace(hour=hour),
        invitee=Invitee(name="Jonas", email="jonas@okafor.example", zone="UTC"),
    )
    async with runtime.transaction(PUBLIC) as work:
        await bookings.create_booking(work, wanted)


async def test_each_step_of_an_account_counts_once(runtime: Runtime, password_hash: str) -> None:
    token = await sign_up(runtime, password_hash)
    assert await total(runtime) == steps(signed_up=1)
    user = await open_account(runtime, token)
    assert await total(runtime) == steps(signed_up=1, verified=1)
    for number in range(2):
        await connect_calendar(runtime, user)
        await offer(runtime, user, f"offer-{number}")
        await book(runtime, user, 10 + number)

    expected = steps(signed_up=1, verified=1, calendar_connected=1, event_type_made=1, first_booking=1)
    assert await total(runtime) == expected
    rows = await runtime.pool.fetch("select distinct account_id from funnel_steps")
    assert [row["account_id"] for row in rows] == [user.id]


async def test_the_event_type_that_every_account_gets_does_not_count(runtime: Runtime, password_hash: str) -> None:
    user = await open_account(runtime, await sign_up(runtime, password_hash))

    assert await runtime.pool.fetchval("select count(*) from event_types where owner_id = $1", user.id) == 1
    assert (await total(runtime))[FunnelStep.EVENT_TYPE_MADE] == 0


async def test_accounts_that_did_not_come_by_the_form_do_not_count(runtime: Runtime, user: User) -> None:
    await connect_calendar(runtime, user)
    await offer(runtime, user, "offer")
    await book(runtime, user, 10)

    assert await runtime.pool.fetchval("select count(*) from bookings") == 1
    assert await total(runtime) == NOTHING


@pytest.mark.rest("seeds the demo")
async def test_demo_data_does_not_count(runtime: Runtime) -> None:
    async with runtime.transaction(DEMO) as work:
        await seed(work)

    assert await runtime.pool.fetchval("select count(*) from bookings") > 1
    assert await total(runtime) == NOTHING


async def test_signing_up_again_or_with_a_known_address_counts_no_second_time(
    runtime: Runtime, user: User, password_hash: str
) -> None:
    tokens = [await sign_up(runtime, password_hash, email) for email in ("a@x.example", "A@x.example", "a@x.example")]
    await sign_up(runtime, password_hash, user.email.upper())
    assert await total(runtime) == steps(signed_up=1)
    await open_account(runtime, tokens[-1])

    assert await total(runtime) == steps(signed_up=1, verified=1)


async def test_two_sign_ups_at_the_same_moment_open_one_account(runtime: Runtime, password_hash: str) -> None:
    tokens = await asyncio.gather(*(sign_up(runtime, password_hash) for _ in range(3)))
    await open_account(runtime, tokens[1])
    counted = await total(runtime)

    assert counted[FunnelStep.VERIFIED] == 1
    assert 1 <= counted[FunnelStep.SIGNED_UP] <= 3


async def test_what_is_rolled_back_does_not_count(runtime: Runtime, password_hash: str) -> None:
    user = await open_account(runtime, await sign_up(runtime, password_hash))
    with pytest.raises(RuntimeError, match="undone"):
        async with runtime.transaction(OPERATOR) as work:
            await work.record(CalendarConnected(connection_id=new_id(), owner_id=user.id, label="Work"))
            raise RuntimeError("undone")

    assert (await total(runtime))[FunnelStep.CALENDAR_CONNECTED] == 0


async def test_counts_are_by_day_in_utc(runtime: Runtime, clock: MovingClock, password_hash: str) -> None:
    clock.now = datetime(2026, 3, 16, 23, 59, 59, tzinfo=UTC)
    token = await sign_up(runtime, password_hash)
    clock.pass_time(seconds=1)
    await open_account(runtime, token)
    monday, tuesday = date(2026, 3, 16), date(2026, 3, 17)
    work = runtime.work(OPERATOR)
    both = await read_funnel(work, first=monday, last=tuesday)

    assert (await read_funnel(work, first=monday, last=monday)).total == steps(signed_up=1)
    assert (await read_funnel(work, first=tuesday, last=tuesday)).total == steps(verified=1)
    assert [(each.on, str(each.step), each.count) for each in both.days] == [
        (monday, "signed_up", 1),
        (tuesday, "verified", 1),
    ]
    assert list(both.total) == list(FunnelStep)


async def test_visits_of_the_form_are_counted_by_day_and_nothing_else_is_kept(
    client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    for headers in (BROWSER, BROWSER, {"user-agent": "Googlebot/2.1"}, {**BROWSER, "sec-purpose": "prefetch"}):
        assert (await client.get("/signup", headers=headers)).status_code == 200
    await client.get("/signup?done=sent", headers=BROWSER)
    await client.post("/signup", headers=BROWSER, data={"name": ""})
    await until_visited(runtime, 2)

    assert await total(runtime) == steps(visited=2)
    rows = await runtime.pool.fetch("select * from funnel_visits")
    assert [dict(row) for row in rows] == [{"on_day": MONDAY.date(), "visits": 2}]


async def test_a_deleted_account_stays_counted_and_names_nobody(runtime: Runtime, password_hash: str) -> None:
    user = await open_account(runtime, await sign_up(runtime, password_hash))
    await runtime.pool.execute("delete from events")
    await runtime.pool.execute("delete from users where id = $1", user.id)

    assert await total(runtime) == steps(signed_up=1, verified=1)
    columns = await runtime.pool.fetch(
        "select column_name from information_schema.columns where table_name = 'funnel_steps' order by 1"
    )
    assert [row["column_name"] for row in columns] == ["account_id", "at", "step"]


async def test_old_steps_and_visits_are_removed(runtime: Runtime, clock: MovingClock, password_hash: str) -> None:
    await open_account(runtime, await sign_up(runtime, password_hash))
    funnel.count_visit(runtime, MONDAY.date())
    await until_visited(runtime, 1)
    clock.now += KEPT_FOR
    await tidy_views(runtime.work(OPERATOR))
    assert await total(runtime) == steps(visited=1, signed_up=1, verified=1)
    clock.now += timedelta(days=1)
    await tidy_views(runtime.work(OPERATOR))
    assert await total(runtime) == NOTHING


async def test_an_invited_user_is_not_in_the_funnel(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, UserWanted(email="li@wei.example", name="Li Wei"))
        await accounts.change_email(work, user, "li@elsewhere.example")
    await connect_calendar(runtime, user)

    assert await total(runtime) == NOTHING
