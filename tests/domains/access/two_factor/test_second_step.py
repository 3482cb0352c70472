"""Which codes open a session, how often, and for how long."""

import asyncio
from datetime import timedelta

import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.errors import InvalidCode, InvalidCredentials, SignInExpired
from openslot.domains.access.jobs import tidy_access
from openslot.domains.access.models import SignedIn
from openslot.domains.access.two_factor import operations as two_factor
from openslot.domains.access.two_factor.operations import PENDING_LASTS, has_pending
from openslot.domains.accounts.models import User
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.platform.core.errors import RateLimited
from openslot.platform.core.work import Runtime
from tests.domains.access.two_factor.signing_in import count, first_step, second_step, sign_in
from tests.support.clocks import MovingClock
from tests.support.passwords import CHEAP, PASSWORD
from tests.support.two_factor import App, add_host, in_session, turn_on

NEW = "a fresh long password"


async def test_the_password_alone_opens_no_session(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)

    assert await count(runtime, "sessions") == 0
    signed_in = await second_step(runtime, token, phone.code(runtime))
    assert signed_in.user.id == host.id
    assert await count(runtime, "sessions") == 1


@pytest.mark.usefixtures("phone")
async def test_no_caller_can_begin_a_session_without_the_second_factor(runtime: Runtime, host: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(InvalidCredentials):
            await access.begin_session(work, host, user_agent="")
    assert await count(runtime, "sessions") == 0


async def test_each_code_is_accepted_once_and_never_an_older_one(
    runtime: Runtime, clock: MovingClock, host: User, phone: App
) -> None:
    used, before = phone.code(runtime), phone.code(runtime, later=-1)
    await second_step(runtime, await first_step(runtime, host), used)
    for code in (used, before):
        with pytest.raises(InvalidCode):
            await second_step(runtime, await first_step(runtime, host), code)
    clock.pass_time(seconds=30)
    await second_step(runtime, await first_step(runtime, host), phone.code(runtime))


async def test_the_code_that_turned_it_on_does_not_sign_in(runtime: Runtime, host: User) -> None:
    work = in_session(runtime, host)
    await two_factor.begin_two_factor_setup(work, host, password=PASSWORD)
    phone = App(await two_factor.get_two_factor_secret(work, host), ())
    await two_factor.confirm_two_factor_setup(work, host, code=phone.code(runtime))

    with pytest.raises(InvalidCode):
        await second_step(runtime, await first_step(runtime, host), phone.code(runtime))


async def test_of_many_who_bring_one_code_at_once_one_comes_in(runtime: Runtime, host: User, phone: App) -> None:
    for code in (phone.code(runtime), phone.recovery_codes[0]):
        tokens = [await first_step(runtime, host) for _ in range(4)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_outcome(second_step(runtime, token, code))) for token in tokens]

        assert sorted(task.result() for task in tasks) == ["InvalidCode", "InvalidCode", "InvalidCode", "SignedIn"]
        await runtime.pool.execute("delete from wrong_passwords")
        await runtime.pool.execute("delete from rate_log")
    assert await count(runtime, "sessions") == 2


async def test_the_row_itself_refuses_a_step_that_was_used(runtime: Runtime, host: User, phone: App) -> None:
    """Even those who hold no lock on the user can't use a code twice."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_outcome(_use(runtime, host, phone.code(runtime)))) for _ in range(4)]

    assert sorted(task.result() for task in tasks) == ["InvalidCode", "InvalidCode", "InvalidCode", "NoneType"]


async def _use(runtime: Runtime, host: User, code: str) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await two_factor.use_code(work, host, code)


async def _outcome(action: object) -> str:
    try:
        return type(await action).__name__  # type: ignore[misc]
    except (InvalidCode, SignInExpired) as refusal:
        return type(refusal).__name__


async def test_a_pending_sign_in_is_used_once(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    await second_step(runtime, token, phone.code(runtime))

    assert not await has_pending(runtime.work(PUBLIC), token)
    with pytest.raises(SignInExpired):
        await second_step(runtime, token, phone.code(runtime, later=1))


async def test_a_wrong_code_leaves_the_sign_in_pending(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    with pytest.raises(InvalidCode):
        await second_step(runtime, token, "000000")

    assert (await second_step(runtime, token, phone.code(runtime))).user.id == host.id


async def test_a_pending_sign_in_ends_after_ten_minutes(
    runtime: Runtime, clock: MovingClock, host: User, phone: App
) -> None:
    token = await first_step(runtime, host)
    clock.now += PENDING_LASTS - timedelta(seconds=1)
    assert await has_pending(runtime.work(PUBLIC), token)
    clock.pass_time(seconds=1)
    assert not await has_pending(runtime.work(PUBLIC), token)
    with pytest.raises(SignInExpired):
        await second_step(runtime, token, phone.code(runtime))
    await tidy_access(runtime.work(SYSTEM))
    assert await count(runtime, "pending_sign_ins") == 0


async def test_a_new_password_ends_every_pending_sign_in(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    async with runtime.transaction(OPERATOR) as work:
        await access.give_password(work, host, CHEAP.hash(NEW))

    assert not await has_pending(runtime.work(PUBLIC), token)
    with pytest.raises(SignInExpired):
        await second_step(runtime, token, phone.code(runtime))


async def test_a_password_that_changes_while_the_code_is_checked_ends_it_too(
    runtime: Runtime, host: User, phone: App
) -> None:
    token = await first_step(runtime, host)
    async with runtime.transaction(OPERATOR) as work:
        await access.give_password(work, host, CHEAP.hash(NEW))
        late = asyncio.create_task(_outcome(second_step(runtime, token, phone.code(runtime))))
        while not await runtime.pool.fetchval("select count(*) from pg_stat_activity where wait_event_type = 'Lock'"):
            await asyncio.sleep(0.01)

    assert await late == "SignInExpired"
    assert await count(runtime, "sessions") == 0


async def test_a_disabled_account_stays_closed(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, host)

    with pytest.raises(SignInExpired):
        await second_step(runtime, token, phone.code(runtime))
    with pytest.raises(InvalidCredentials):
        await sign_in(runtime, host)


async def test_wrong_codes_are_limited_by_account_and_a_right_password_forgives_none(
    runtime: Runtime, host: User, phone: App
) -> None:
    for number in range(5):
        token = await first_step(runtime, host)
        with pytest.raises(InvalidCode):
            await second_step(runtime, token, "000000", address=f"192.0.2.{number}")
    with pytest.raises(RateLimited):
        await second_step(runtime, await first_step(runtime, host), phone.code(runtime), address="192.0.2.99")


async def test_wrong_codes_are_limited_by_address(runtime: Runtime, host: User, phone: App) -> None:
    others = [await add_host(runtime, name) for name in ("ana", "bo", "cem", "dag", "eva")]
    for other in others:
        await turn_on(runtime, other)
        with pytest.raises(InvalidCode):
            await second_step(runtime, await first_step(runtime, other), "000000", address="192.0.2.7")
    token = await first_step(runtime, host)
    with pytest.raises(RateLimited):
        await second_step(runtime, token, phone.code(runtime), address="192.0.2.7")
    assert isinstance(await second_step(runtime, token, phone.code(runtime), address="192.0.2.8"), SignedIn)


async def test_strangers_can_not_lock_a_known_device_out(runtime: Runtime, host: User, phone: App) -> None:
    known = (await second_step(runtime, await first_step(runtime, host), phone.code(runtime))).device
    token = await first_step(runtime, host)
    for _ in range(5):
        with pytest.raises(InvalidCode):
            await second_step(runtime, token, "000000", address="192.0.2.9")
    with pytest.raises(RateLimited):
        await second_step(runtime, token, phone.code(runtime, later=1), address="192.0.2.9")
    assert isinstance(
        await second_step(runtime, token, phone.code(runtime, later=1), device=known, address="192.0.2.9"), SignedIn
    )
