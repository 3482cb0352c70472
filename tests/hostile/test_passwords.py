"""Passwords that are used and changed at the same moment, and crowds that want theirs checked."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from threading import Event

import httpx2
import pytest
from typer.testing import CliRunner

from openslot.cli.commands import app
from openslot.domains.access import operations as access
from openslot.domains.access import passwords
from openslot.domains.access.errors import InvalidCredentials, WeakPassword
from openslot.domains.access.limits import store
from openslot.domains.access.models import SignedIn
from openslot.domains.access.passwords import AT_ONCE, KNOWN, STRANGERS, check_password, hash_password, is_password
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.invitations.operations import invitation_token, make_invitation
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Unauthorized, Unavailable
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Runtime, Work
from tests.doors.web.conftest import carry_csrf_token
from tests.support.passwords import CHEAP, PASSWORD
from tests.support.statements import CountingPool

NEW = "a fresh long password"


@pytest.fixture
async def host(runtime: Runtime) -> User:
    """Someone whose password is cheap to check."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="ines@lindqvist.example", name="Ines Lindqvist")
        return await people.welcome_user(work, wanted, password_hash=CHEAP.hash(PASSWORD))


@pytest.fixture
def no_threads() -> Iterator[None]:
    """Keep every thread for passwords busy until the end of the test."""
    end = Event()
    for _ in range(AT_ONCE):
        passwords._threads.submit(end.wait)
    yield
    end.set()


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that is bound to happen."""
    deadline = time.monotonic() + 60
    while not await is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def until_one_waits(runtime: Runtime) -> None:
    async def waits() -> bool:
        asked = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        return bool(await runtime.pool.fetchval(asked))

    await until(waits)


async def until_one_is_hashed() -> None:
    async def is_queued() -> bool:
        return not passwords._threads._work_queue.empty()

    await until(is_queued)


async def sign_in(runtime: Runtime, user: User, password: str = PASSWORD, *, device: str = "") -> SignedIn:
    work = runtime.work(PUBLIC)
    result = await access.sign_in(
        work, email=user.email, password=password, device=device, address="192.0.2.1", user_agent=""
    )
    assert isinstance(result, SignedIn)
    return result


async def in_session(runtime: Runtime, user: User) -> Work:
    """Begin work as someone who has signed in."""
    async with runtime.transaction(OPERATOR) as work:
        token = await access.begin_session(work, user, user_agent="")
    session_id = await runtime.pool.fetchval("select id from sessions where hash = $1", fingerprint(token))
    return runtime.work(Actor(kind=ActorKind.SESSION, user_id=user.id, credential_id=session_id))


async def change(work: Work, user: User, new: str = NEW) -> SignedIn:
    return await access.change_password(work, user, current=PASSWORD, new=new, user_agent="")


async def sessions(runtime: Runtime) -> set[bytes]:
    return {row["hash"] for row in await runtime.pool.fetch("select hash from sessions")}


async def test_a_sign_in_that_waits_for_a_change_is_refused(runtime: Runtime, host: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await access.give_password(work, host, CHEAP.hash(NEW))
        late = asyncio.create_task(sign_in(runtime, host))
        await until_one_waits(runtime)
    with pytest.raises(InvalidCredentials):
        await late

    assert await sessions(runtime) == set()


async def test_a_change_that_waits_for_a_sign_in_ends_its_session(runtime: Runtime, host: User) -> None:
    checked = await runtime.pool.fetchval("select password_hash from users where id = $1", host.id)
    work = await in_session(runtime, host)
    async with runtime.transaction(OPERATOR) as early:
        await access.let_in(early, host, password_hash=checked, user_agent="")
        changing = asyncio.create_task(change(work, host))
        await until_one_waits(runtime)
    changed = await changing

    assert await sessions(runtime) == {fingerprint(changed.session)}


async def test_a_sign_in_that_waits_for_the_account_to_be_closed_is_refused(runtime: Runtime, host: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, host)
        late = asyncio.create_task(sign_in(runtime, host))
        await until_one_waits(runtime)
    with pytest.raises(InvalidCredentials):
        await late


async def test_a_change_needs_the_session_that_it_came_in_by(runtime: Runtime, host: User) -> None:
    work = await in_session(runtime, host)
    await access.sign_out(work)
    with pytest.raises(Unauthorized):
        await change(work, host)

    assert (await sign_in(runtime, host)).user.id == host.id


async def test_an_operators_new_password_ends_sessions_devices_and_pauses(runtime: Runtime, host: User) -> None:
    device = (await sign_in(runtime, host)).device
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await sign_in(runtime, host, "wrong")
    async with runtime.transaction(OPERATOR) as work:
        await access.give_password(work, host, CHEAP.hash(NEW))
    await runtime.pool.execute("delete from rate_log")

    assert await sessions(runtime) == set()
    assert await runtime.pool.fetchval("select count(*) from wrong_passwords") == 0
    with pytest.raises(InvalidCredentials):
        await sign_in(runtime, host, "wrong", device=device)
    assert await runtime.pool.fetchval("select cardinality(stamps) from rate_log where bucket = 'login:192.0.2.1'") == 1
    assert (await sign_in(runtime, host, NEW)).user.id == host.id


async def test_the_operators_command_ends_sessions_and_pauses(
    runtime: Runtime, host: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sign_in(runtime, host)
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await sign_in(runtime, host, "wrong")
    monkeypatch.setenv("DATABASE_URL", settings.database_url or "")
    monkeypatch.setenv("OPENSLOT_DATA_DIR", str(settings.data_dir))
    command = ["user", "password", host.email, "--stdin"]
    done = await asyncio.to_thread(CliRunner().invoke, app, command, input=f"{NEW}\n")

    assert done.exit_code == 0, done.output
    assert await sessions(runtime) == set()
    assert await runtime.pool.fetchval("select count(*) from wrong_passwords") == 0


@pytest.mark.parametrize("password", ["short", "x" * 201, "long enough\tbut odd", "long enough\0but odd"])
def test_a_password_that_no_form_would_take_is_refused(password: str) -> None:
    with pytest.raises(WeakPassword):
        check_password(password)


@pytest.mark.parametrize("email", ["x" * 255, "a\0b@lindqvist.example", "\ud800@lindqvist.example"])
async def test_what_can_be_no_address_never_reaches_the_database(runtime: Runtime, email: str) -> None:
    counting = CountingPool(runtime.pool)
    runtime.pool = counting
    with pytest.raises(InvalidCredentials):
        await access.sign_in(runtime.work(PUBLIC), email=email, password=PASSWORD, address="192.0.2.1", user_agent="")

    assert counting.asked == []


async def test_a_change_gives_the_browser_a_new_session_and_a_new_mark(client: httpx2.AsyncClient, host: User) -> None:
    await client.post("/login", data={"email": host.email, "password": PASSWORD})
    before = dict(client.cookies)
    await carry_csrf_token(client)
    await client.post("/account/password", data={"current": PASSWORD, "password": NEW}, timeout=60)
    after = dict(client.cookies)
    shown = await client.get("/account")
    client.cookies.clear()
    old = await client.get("/account", headers={"cookie": f"openslot_session={before['openslot_session']}"})

    assert before.keys() == after.keys() == {"openslot_session", "openslot_device"}
    assert not set(before.values()) & set(after.values())
    assert (shown.status_code, old.status_code) == (200, 303)


async def signing_in(runtime: Runtime, user: User) -> object:
    return await sign_in(runtime, user)


async def changing(runtime: Runtime, user: User) -> object:
    return await change(await in_session(runtime, user), user)


async def setting_up(runtime: Runtime, user: User) -> object:
    del user
    wanted = UserWanted(email="first@lindqvist.example", name="First")
    return await people.set_up_installation(runtime.work(PUBLIC), "no link", wanted, password=NEW, user_agent="")


@pytest.mark.usefixtures("no_threads")
@pytest.mark.parametrize("verb", [signing_in, changing, setting_up])
async def test_no_connection_is_held_while_a_password_is_hashed(
    runtime: Runtime, host: User, verb: Callable[[Runtime, User], Awaitable[object]]
) -> None:
    running = asyncio.ensure_future(verb(runtime, host))
    await until_one_is_hashed()
    in_use = runtime.pool._in_use  # type: ignore[attr-defined]
    running.cancel()

    assert in_use == 0


async def test_a_place_is_free_again_when_its_password_was_checked() -> None:
    for _ in range(40):
        assert await passwords._run(lambda: True, STRANGERS)


async def test_only_a_few_passwords_are_hashed_at_once() -> None:
    running: list[int] = []
    max_ = 0

    def hash_slowly() -> None:
        nonlocal max_
        running.append(1)
        max_ = max(max_, len(running))
        time.sleep(0.02)
        running.pop()

    await asyncio.gather(*(passwords._run(hash_slowly, KNOWN) for _ in range(10)))

    assert 1 <= max_ <= AT_ONCE


@pytest.mark.usefixtures("no_threads")
async def test_a_crowd_of_strangers_is_refused_at_once_and_leaves_room_for_known_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 3600)
    crowd = [asyncio.ensure_future(is_password("x", None, STRANGERS)) for _ in range(AT_ONCE + 16)]
    await until_one_is_hashed()
    with pytest.raises(Unavailable):
        await asyncio.wait_for(is_password("x", None, STRANGERS), 30)
    known = asyncio.ensure_future(is_password("x", None, KNOWN))
    done, _ = await asyncio.wait([known], timeout=0.05)

    assert not done
    for waiting in (*crowd, known):
        waiting.cancel()
    await asyncio.wait(crowd)
    # Whoever is gone does not keep a place.
    assert STRANGERS._value == AT_ONCE + 16


async def test_who_is_invited_takes_a_strangers_place(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor")
        await add_organization_member(work, organization, host)
        token = invitation_token(runtime, await make_invitation(work, organization, host))
        await work.db.execute("update users set password_hash = null where id = $1", host.id)
    for _ in range(AT_ONCE + 16):
        assert STRANGERS.acquire(blocking=False)
    try:
        refused = await client.post(f"/invite/{token}", data={"password": NEW})
    finally:
        STRANGERS.release(AT_ONCE + 16)

    assert refused.status_code == 503
    assert (await client.post(f"/invite/{token}", data={"password": NEW})).status_code == 303


@pytest.mark.rest("waits for seconds")
@pytest.mark.usefixtures("no_threads")
async def test_who_waits_too_long_is_told_to_come_back_and_is_not_counted(
    client: httpx2.AsyncClient, runtime: Runtime, host: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.05)
    free = STRANGERS._value
    answers = [await client.post("/login", data={"email": host.email, "password": PASSWORD}) for _ in range(20)]

    assert {answer.status_code for answer in answers} == {503}
    assert {answer.headers["retry-after"] for answer in answers} == {"2"}
    assert STRANGERS._value >= free
    assert await runtime.pool.fetchval("select count(*) from wrong_passwords") == 0
    assert await runtime.pool.fetchval("select cardinality(stamps) from rate_log where bucket like 'login:%'") == 0


async def test_a_try_that_was_not_looked_at_is_taken_back_alone(runtime: Runtime) -> None:
    for _ in range(3):
        await store.count_try(runtime.pool, subject="account x", log="login:x", limit=5)
    await store.take_try_back(runtime.pool, subject="account x", log="login:x")

    assert await runtime.pool.fetchval("select failures from wrong_passwords") == 2
    assert await runtime.pool.fetchval("select cardinality(stamps) from rate_log") == 2


async def test_nobodys_hash_costs_what_a_real_one_does() -> None:
    real = await hash_password(PASSWORD)

    assert passwords._nobodys().split("$")[:4] == real.split("$")[:4]
    assert [len(part) for part in passwords._nobodys().split("$")] == [len(part) for part in real.split("$")]
    assert not await is_password(PASSWORD, None)


async def test_a_user_without_a_password_can_not_sign_in(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        nobody = await accounts.add_user(work, UserWanted(email="no@lindqvist.example", name="No"))
    for guess in ("", PASSWORD, "None"):
        with pytest.raises(InvalidCredentials):
            await sign_in(runtime, nobody, guess)
