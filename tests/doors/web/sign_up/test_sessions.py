"""Users see where they are signed in, and sign out there."""

import asyncio
from contextlib import nullcontext
from datetime import timedelta
from uuid import UUID

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.access import sessions
from openslot.domains.access.errors import SessionNotFound
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.host import open_session
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.statements import CountingPool

PATH = "/settings/sessions"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:124.0) Gecko/20100101 Firefox/124.0"


async def id_of(runtime: Runtime, session: dict[str, str]) -> UUID:
    token = session["cookie"].partition("=")[2]
    found: UUID = await runtime.pool.fetchval("select id from sessions where hash = $1", fingerprint(token))
    return found


async def is_signed_in(client: httpx2.AsyncClient, session: dict[str, str]) -> bool:
    return (await client.get("/account", headers=session)).status_code == 200


async def test_each_session_is_listed_and_this_one_is_marked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    elsewhere = await id_of(runtime, await open_session(runtime, user))
    await runtime.pool.execute("update sessions set user_agent = $2 where id = $1", elsewhere, FIREFOX)
    page = (await member.get(PATH)).text

    assert page.count('<tr role="row">') == 3
    assert page.count("This browser") == 1
    assert "Firefox on Windows" in page
    assert page.count("Today, 08:00") == 2
    assert page.count("Within the last hour") == 1
    assert page.index("This browser") < page.index("Firefox on Windows")
    assert 'href="/settings/sessions" aria-current="page"' in page


async def test_signing_out_one_session_ends_it_and_no_other(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    one, two = await open_session(runtime, user), await open_session(runtime, user)
    answer = await member.post(f"{PATH}/{await id_of(runtime, one)}/end")

    assert (answer.status_code, answer.headers["location"]) == (303, f"{PATH}?done=one")
    assert "The session was signed out" in read_page(await member.get(answer.headers["location"])).notices[0]
    assert [await is_signed_in(member, each) for each in (one, two)] == [False, True]
    assert (await member.get("/account")).status_code == 200


async def test_signing_out_all_others_keeps_this_one(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    others = [await open_session(runtime, user) for _ in range(3)]
    answer = await member.post(f"{PATH}/end-others")
    page = (await member.get(answer.headers["location"])).text

    assert answer.headers["location"] == f"{PATH}?done=others"
    assert [await is_signed_in(member, each) for each in others] == [False] * 3
    assert "All other sessions were signed out" in page
    assert "You are not signed in anywhere else" in page
    assert "end-others" not in page


async def test_nobody_sees_or_ends_a_session_of_another(
    member: httpx2.AsyncClient, runtime: Runtime, password_hash: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="omar@haddad.example", name="Omar Haddad")
        stranger = await people.welcome_user(work, wanted, password_hash=password_hash)
    theirs = await open_session(runtime, stranger)
    target = await id_of(runtime, theirs)
    no_one = "018f0000-0000-7000-8000-000000000000"
    answers = [await member.post(f"{PATH}/{each}/end") for each in (target, no_one, "nonsense")]
    await member.post(f"{PATH}/end-others")

    assert [answer.status_code for answer in answers] == [404] * 3
    assert str(target) not in (await member.get(PATH)).text
    assert await is_signed_in(member, theirs)


async def test_a_stranger_is_asked_to_sign_in(client: httpx2.AsyncClient) -> None:
    assert (await client.get(PATH)).headers["location"] == f"/login?next={PATH}"


async def test_an_ended_session_can_not_be_ended_again(runtime: Runtime, user: User) -> None:
    session_id = await id_of(runtime, await open_session(runtime, user))

    async def end() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await sessions.end_session(work, user, session_id)

    results = await asyncio.gather(end(), end(), return_exceptions=True)

    assert sorted(type(each).__name__ for each in results) == ["NoneType", "SessionNotFound"]
    with pytest.raises(SessionNotFound):
        await sessions.end_other_sessions(runtime.work(OPERATOR), user)


async def test_the_cookie_of_a_session_opens_nothing_after_thirty_days_however_often_it_was_used(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    session = await open_session(runtime, user)
    for _ in range(29):
        clock.pass_time(days=1)
        assert await is_signed_in(client, session)
    clock.pass_time(days=1, seconds=-1)
    assert await is_signed_in(client, session)
    clock.pass_time(seconds=1)
    shown = await client.get("/account", headers=session)
    sent = await client.post(f"{PATH}/end-others", headers=session)

    assert (shown.status_code, shown.headers["location"]) == (303, "/login?next=/account")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/")


async def test_expired_sessions_are_not_listed(runtime: Runtime, user: User, clock: MovingClock) -> None:
    await open_session(runtime, user)
    assert len(await sessions.list_sessions(runtime.work(OPERATOR), user)) == 1
    clock.pass_time(days=30)
    assert await sessions.list_sessions(runtime.work(OPERATOR), user) == []


async def test_the_hour_of_the_last_use_is_written_once_an_hour_and_off_the_request(
    settings: Settings, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    session = await open_session(runtime, user)
    session_id = await id_of(runtime, session)
    uncounted, pool = runtime.pool, CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings, clock=clock)
    app._open_runtime = lambda: nullcontext(runtime)
    stored = "select coalesce(last_seen_at, created_at) from sessions where id = $1"
    async with serving(app) as url, connect(url, headers=session) as client:
        for minutes, written in ((0, 0), (59, 0), (2, 1), (1, 1), (30, 1), (30, 2)):
            clock.pass_time(minutes=minutes)
            before = len(pool.asked)
            assert (await client.get("/help")).status_code == 200
            # The next request must find what this one has written.
            async with asyncio.timeout(60):
                while (seen := await uncounted.fetchval(stored, session_id)).hour != clock.now.hour:
                    await asyncio.sleep(0.01)
            assert sum("update sessions" in statement for statement in pool.asked) == written, minutes
            # The page itself costs the look-up of the session and nothing else.
            assert [each for each in pool.asked[before:] if "update sessions" not in each][1:] == []
    assert (seen.hour, seen.minute, seen.second) == (9, 0, 0)


async def test_the_last_use_is_shown_to_the_hour(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    elsewhere = await id_of(runtime, await open_session(runtime, user))
    clock.pass_time(hours=5)
    seen = clock.now.replace(minute=47)
    await runtime.pool.execute("update sessions set last_seen_at = $2 where id = $1", elsewhere, seen)
    clock.pass_time(hours=2)

    assert "Today, 13:00" in read_page(await member.get(PATH)).text


async def test_hostile_names_of_browsers_are_harmless(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    elsewhere = await id_of(runtime, await open_session(runtime, user))
    for name in ('<script>alert("x")</script>', "'; drop table sessions; --", "ÿ" * 300, "%(browser)s Firefox/1 Linux"):
        await runtime.pool.execute("update sessions set user_agent = $2 where id = $1", elsewhere, name)
        page = await member.get(PATH)
        assert page.status_code == 200
        assert "alert(" not in page.text


async def test_the_page_needs_two_statements_however_many_sessions_there_are(
    settings: Settings, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    session = await open_session(runtime, user)
    await runtime.pool.execute(
        """insert into sessions (id, user_id, hash, created_at, expires_at, user_agent)
        select gen_random_uuid(), $1, sha256(n::text::bytea), $2::timestamptz, $2::timestamptz + interval '1 day', $3
        from generate_series(1, 500) n""",
        user.id,
        clock.now + timedelta(seconds=1),
        FIREFOX,
    )
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings, clock=clock)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        answer = await client.get(PATH)

    assert (answer.status_code, len(pool.asked)) == (200, 2)
    assert answer.text.count("Firefox on Windows") >= 199
    assert "This browser" in read_page(answer).text
