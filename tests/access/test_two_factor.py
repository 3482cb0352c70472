"""The second factor: when it is on, which codes are accepted and how often, and who can take it away."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from openslot.access import operations as access
from openslot.access import two_factor
from openslot.access.errors import (
    NoPasswordYet,
    SetupExpired,
    SignInExpired,
    TwoFactorIsOff,
    TwoFactorIsOn,
    WrongCode,
    WrongPassword,
    WrongSignIn,
)
from openslot.access.jobs import tidy_access
from openslot.access.models import SecondFactorNeeded, SignedIn
from openslot.access.pending import PENDING_LASTS, has_pending
from openslot.access.second_step import finish_sign_in
from openslot.accounts.models import User
from openslot.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.core.config import Settings
from openslot.core.errors import Invalid, TooMany
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.people import operations as people
from openslot.runtime import open_runtime
from tests.access.two_factor_scene import App, add_host, forget_steps, in_session, turn_on
from tests.bookings.conftest import MovingClock
from tests.cheap_passwords import CHEAP
from tests.conftest import PASSWORD

NEW = "a fresh long password"


@pytest.fixture
def clock() -> MovingClock:
    """Give a clock that tests set."""
    return MovingClock()


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock) -> AsyncIterator[Runtime]:
    """Open a runtime on the moving clock."""
    async with open_runtime(settings, clock=clock) as opened:
        yield opened


@pytest.fixture
async def host(runtime: Runtime) -> User:
    """Add someone whose password is cheap to check."""
    return await add_host(runtime)


@pytest.fixture
async def phone(runtime: Runtime, host: User) -> App:
    """Turn two-factor authentication on."""
    return await turn_on(runtime, host)


async def sign_in(runtime: Runtime, user: User, *, device: str = "") -> SignedIn | SecondFactorNeeded:
    return await access.sign_in(
        runtime.work(PUBLIC), email=user.email, password=PASSWORD, device=device, address="192.0.2.1", user_agent=""
    )


async def first_step(runtime: Runtime, user: User) -> str:
    result = await sign_in(runtime, user)
    assert isinstance(result, SecondFactorNeeded)
    return result.token


async def second_step(
    runtime: Runtime, token: str, code: str, *, device: str = "", address: str = "192.0.2.1"
) -> SignedIn:
    work = runtime.work(PUBLIC)
    return await finish_sign_in(work, token=token, code=code, device=device, address=address, user_agent="")


async def events(runtime: Runtime) -> list[str]:
    rows = await runtime.pool.fetch("select type from events where type like 'two_factor.%' order by id")
    return [row["type"].removeprefix("two_factor.") for row in rows]


async def count(runtime: Runtime, table: str) -> int:
    return int(await runtime.pool.fetchval(f"select count(*) from {table}"))


async def test_it_stays_off_until_a_first_code_has_confirmed_it(runtime: Runtime, host: User) -> None:
    work = in_session(runtime, host)
    await two_factor.begin_setup(work, host, password=PASSWORD)
    secret = await two_factor.get_setup(work, host)

    assert isinstance(await sign_in(runtime, host), SignedIn)
    with pytest.raises(WrongCode):
        await two_factor.confirm_setup(work, host, code="000000")
    assert isinstance(await sign_in(runtime, host), SignedIn)
    codes = await two_factor.confirm_setup(work, host, code=App(secret, ()).code(runtime))
    assert len(codes) == 10
    assert isinstance(await sign_in(runtime, host), SecondFactorNeeded)
    assert await events(runtime) == ["turned_on"]


async def test_the_setup_asks_for_the_password(runtime: Runtime, host: User) -> None:
    with pytest.raises(WrongPassword):
        await two_factor.begin_setup(in_session(runtime, host), host, password="wrong")
    assert await count(runtime, "authenticators") == 0


async def test_an_account_without_a_password_can_not_turn_it_on(runtime: Runtime, host: User) -> None:
    await runtime.pool.execute("update users set password_hash = null where id = $1", host.id)
    with pytest.raises(NoPasswordYet):
        await two_factor.begin_setup(in_session(runtime, host), host, password="")


async def test_only_the_session_that_began_sees_the_secret_and_not_for_long(
    runtime: Runtime, clock: MovingClock, host: User
) -> None:
    session = new_id()
    await two_factor.begin_setup(in_session(runtime, host, session), host, password=PASSWORD)
    secret = await two_factor.get_setup(in_session(runtime, host, session), host)

    with pytest.raises(SetupExpired):
        await two_factor.get_setup(in_session(runtime, host), host)
    with pytest.raises(SetupExpired):
        await two_factor.confirm_setup(in_session(runtime, host), host, code=App(secret, ()).code(runtime))
    clock.pass_time(minutes=30)
    with pytest.raises(SetupExpired):
        await two_factor.get_setup(in_session(runtime, host, session), host)


async def test_a_confirmed_secret_is_neither_shown_nor_replaced(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    with pytest.raises(TwoFactorIsOn):
        await two_factor.begin_setup(work, host, password=PASSWORD)
    with pytest.raises(SetupExpired):
        await two_factor.get_setup(work, host)
    assert isinstance(await second_step(runtime, await first_step(runtime, host), phone.code(runtime)), SignedIn)


async def test_nothing_at_rest_tells_the_secret_or_a_code(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    for table in ("authenticators", "recovery_codes", "pending_sign_ins"):
        for row in await runtime.pool.fetch(f"select {table}::text as told from {table}"):
            for secret in (phone.secret, token, *phone.recovery_codes):
                assert secret not in row["told"]
                assert secret.encode().hex() not in row["told"]


async def test_the_password_alone_opens_no_session(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)

    assert await count(runtime, "sessions") == 0
    signed_in = await second_step(runtime, token, phone.code(runtime))
    assert signed_in.user.id == host.id
    assert await count(runtime, "sessions") == 1


@pytest.mark.usefixtures("phone")
async def test_no_caller_can_begin_a_session_without_the_second_factor(runtime: Runtime, host: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(WrongSignIn):
            await access.begin_session(work, host, user_agent="")
    assert await count(runtime, "sessions") == 0


async def test_each_code_is_accepted_once_and_never_an_older_one(
    runtime: Runtime, clock: MovingClock, host: User, phone: App
) -> None:
    used, before = phone.code(runtime), phone.code(runtime, later=-1)
    await second_step(runtime, await first_step(runtime, host), used)
    for code in (used, before):
        with pytest.raises(WrongCode):
            await second_step(runtime, await first_step(runtime, host), code)
    clock.pass_time(seconds=30)
    await second_step(runtime, await first_step(runtime, host), phone.code(runtime))


async def test_the_code_that_turned_it_on_does_not_sign_in(runtime: Runtime, host: User) -> None:
    work = in_session(runtime, host)
    await two_factor.begin_setup(work, host, password=PASSWORD)
    phone = App(await two_factor.get_setup(work, host), ())
    await two_factor.confirm_setup(work, host, code=phone.code(runtime))

    with pytest.raises(WrongCode):
        await second_step(runtime, await first_step(runtime, host), phone.code(runtime))


async def test_of_many_who_bring_one_code_at_once_one_comes_in(runtime: Runtime, host: User, phone: App) -> None:
    for code in (phone.code(runtime), phone.recovery_codes[0]):
        tokens = [await first_step(runtime, host) for _ in range(4)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_outcome(second_step(runtime, token, code))) for token in tokens]

        assert sorted(task.result() for task in tasks) == ["SignedIn", "WrongCode", "WrongCode", "WrongCode"]
        await runtime.pool.execute("delete from wrong_passwords")
        await runtime.pool.execute("delete from rate_log")
    assert await count(runtime, "sessions") == 2


async def test_the_row_itself_refuses_a_step_that_was_used(runtime: Runtime, host: User, phone: App) -> None:
    """Even those who hold no lock on the user can't use a code twice."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_outcome(_use(runtime, host, phone.code(runtime)))) for _ in range(4)]

    assert sorted(task.result() for task in tasks) == ["NoneType", "WrongCode", "WrongCode", "WrongCode"]


async def _use(runtime: Runtime, host: User, code: str) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await two_factor.use_code(work, host, code)


async def _outcome(action: object) -> str:
    try:
        return type(await action).__name__  # type: ignore[misc]
    except (WrongCode, SignInExpired) as refusal:
        return type(refusal).__name__


async def test_a_pending_sign_in_is_used_once(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    await second_step(runtime, token, phone.code(runtime))

    assert not await has_pending(runtime.work(PUBLIC), token)
    with pytest.raises(SignInExpired):
        await second_step(runtime, token, phone.code(runtime, later=1))


async def test_a_wrong_code_leaves_the_sign_in_pending(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    with pytest.raises(WrongCode):
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
        await access.set_password(work, host, CHEAP.hash(NEW))

    assert not await has_pending(runtime.work(PUBLIC), token)
    with pytest.raises(SignInExpired):
        await second_step(runtime, token, phone.code(runtime))


async def test_a_password_that_changes_while_the_code_is_checked_ends_it_too(
    runtime: Runtime, host: User, phone: App
) -> None:
    token = await first_step(runtime, host)
    async with runtime.transaction(OPERATOR) as work:
        await access.set_password(work, host, CHEAP.hash(NEW))
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
    with pytest.raises(WrongSignIn):
        await sign_in(runtime, host)


async def test_wrong_codes_are_limited_by_account_and_a_right_password_forgives_none(
    runtime: Runtime, host: User, phone: App
) -> None:
    for number in range(5):
        token = await first_step(runtime, host)
        with pytest.raises(WrongCode):
            await second_step(runtime, token, "000000", address=f"192.0.2.{number}")
    with pytest.raises(TooMany):
        await second_step(runtime, await first_step(runtime, host), phone.code(runtime), address="192.0.2.99")


async def test_wrong_codes_are_limited_by_address(runtime: Runtime, host: User, phone: App) -> None:
    others = [await add_host(runtime, name) for name in ("ana", "bo", "cem", "dag", "eva")]
    for other in others:
        await turn_on(runtime, other)
        with pytest.raises(WrongCode):
            await second_step(runtime, await first_step(runtime, other), "000000", address="192.0.2.7")
    token = await first_step(runtime, host)
    with pytest.raises(TooMany):
        await second_step(runtime, token, phone.code(runtime), address="192.0.2.7")
    assert isinstance(await second_step(runtime, token, phone.code(runtime), address="192.0.2.8"), SignedIn)


async def test_strangers_can_not_lock_a_known_device_out(runtime: Runtime, host: User, phone: App) -> None:
    known = (await second_step(runtime, await first_step(runtime, host), phone.code(runtime))).device
    token = await first_step(runtime, host)
    for _ in range(5):
        with pytest.raises(WrongCode):
            await second_step(runtime, token, "000000", address="192.0.2.9")
    with pytest.raises(TooMany):
        await second_step(runtime, token, phone.code(runtime, later=1), address="192.0.2.9")
    assert isinstance(
        await second_step(runtime, token, phone.code(runtime, later=1), device=known, address="192.0.2.9"), SignedIn
    )


async def test_each_recovery_code_is_accepted_once_and_the_user_is_told(
    runtime: Runtime, host: User, phone: App
) -> None:
    first, second = phone.recovery_codes[:2]
    await second_step(runtime, await first_step(runtime, host), first.replace("-", " "))
    with pytest.raises(WrongCode):
        await second_step(runtime, await first_step(runtime, host), first)
    await second_step(runtime, await first_step(runtime, host), second)

    assert await events(runtime) == ["turned_on", "recovery_code_used", "recovery_code_used"]
    assert (await two_factor.get_state(runtime.work(PUBLIC), host)).codes_left == 8


async def test_a_recovery_code_of_somebody_else_is_wrong(runtime: Runtime, host: User, phone: App) -> None:
    other = await turn_on(runtime, await add_host(runtime, "ana"))
    token = await first_step(runtime, host)
    with pytest.raises(WrongCode):
        await second_step(runtime, token, other.recovery_codes[0])
    assert isinstance(await second_step(runtime, token, phone.recovery_codes[0]), SignedIn)


async def test_new_recovery_codes_replace_the_earlier_ones(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    for password, code, refusal in (("wrong", phone.code(runtime), WrongPassword), (PASSWORD, "000000", WrongCode)):
        with pytest.raises(refusal):
            await two_factor.renew_recovery_codes(work, host, password=password, code=code)
    codes = await two_factor.renew_recovery_codes(work, host, password=PASSWORD, code=phone.code(runtime))

    assert not set(codes) & set(phone.recovery_codes)
    token = await first_step(runtime, host)
    with pytest.raises(WrongCode):
        await second_step(runtime, token, phone.recovery_codes[0])
    assert isinstance(await second_step(runtime, token, codes[0]), SignedIn)
    assert await events(runtime) == ["turned_on", "recovery_codes_renewed", "recovery_code_used"]


async def test_it_is_turned_off_with_the_password_and_a_code(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    for password, code, refusal in (("wrong", phone.code(runtime), WrongPassword), (PASSWORD, "000000", WrongCode)):
        with pytest.raises(refusal):
            await two_factor.turn_off(work, host, password=password, code=code)
    pending = await first_step(runtime, host)
    await two_factor.turn_off(work, host, password=PASSWORD, code=phone.code(runtime))

    assert isinstance(await sign_in(runtime, host), SignedIn)
    assert not await has_pending(runtime.work(PUBLIC), pending)
    assert await count(runtime, "recovery_codes") == 0
    with pytest.raises(TwoFactorIsOff):
        await two_factor.turn_off(work, host, password=PASSWORD, code=phone.code(runtime))
    assert await events(runtime) == ["turned_on", "turned_off"]


async def test_guessing_inside_a_session_is_limited(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    for _ in range(5):
        with pytest.raises(WrongCode):
            await two_factor.turn_off(work, host, password=PASSWORD, code="000000")
    with pytest.raises(TooMany):
        await two_factor.turn_off(work, host, password=PASSWORD, code=phone.code(runtime))


async def test_the_operator_turns_it_off_for_someone_who_lost_everything(
    runtime: Runtime, host: User, phone: App
) -> None:
    for was_on in (True, False):
        async with runtime.transaction(OPERATOR) as work:
            assert await two_factor.reset(work, host) is was_on

    assert isinstance(await sign_in(runtime, host), SignedIn)
    assert await events(runtime) == ["turned_on", "turned_off"]
    assert phone.secret not in await runtime.pool.fetchval("select string_agg(e::text, '') from events e")


async def test_neither_a_right_password_nor_another_session_forgives_wrong_codes(
    runtime: Runtime, host: User, phone: App
) -> None:
    refused = 0
    for _ in range(12):
        work = in_session(runtime, host)
        await two_factor.check_current_password(work, host, PASSWORD)
        try:
            await two_factor.turn_off(work, host, password=PASSWORD, code="000000")
        except TooMany:
            refused += 1
        except WrongCode:
            continue

    assert refused >= 6
    for verb in (two_factor.turn_off, two_factor.renew_recovery_codes):
        with pytest.raises(TooMany):
            await verb(in_session(runtime, host), host, password=PASSWORD, code=phone.code(runtime))
    with pytest.raises(TooMany):
        await two_factor.confirm_code(in_session(runtime, host), host, phone.code(runtime))


async def test_a_code_is_confirmed_once_and_only_where_the_second_factor_is_on(
    runtime: Runtime, host: User, user: User, phone: App
) -> None:
    work, code = in_session(runtime, host), phone.code(runtime)
    await two_factor.confirm_code(work, host, code)

    with pytest.raises(WrongCode):
        await two_factor.confirm_code(work, host, code)
    with pytest.raises(Invalid) as none:
        await two_factor.confirm_code(work, host, " ")
    assert none.value.faults == {"code": "Enter a code"}
    await two_factor.confirm_code(in_session(runtime, user), user, "")


async def test_a_change_of_the_password_keeps_it_on_and_the_session_open(
    runtime: Runtime, host: User, phone: App
) -> None:
    signed_in = await second_step(runtime, await first_step(runtime, host), phone.code(runtime))
    session_id = await runtime.pool.fetchval("select id from sessions")
    changed = await access.change_password(
        in_session(runtime, host, session_id),
        host,
        current=PASSWORD,
        new=NEW,
        code=phone.recovery_codes[0],
        user_agent="",
    )

    assert changed.session != signed_in.session
    assert await count(runtime, "sessions") == 1
    assert (await two_factor.get_state(runtime.work(PUBLIC), host)).on_since is not None


async def test_a_secret_that_no_key_opens_leaves_the_recovery_codes(runtime: Runtime, host: User, phone: App) -> None:
    await runtime.pool.execute("update authenticators set secret = 'lost'")
    await forget_steps(runtime)
    token = await first_step(runtime, host)

    with pytest.raises(WrongCode):
        await second_step(runtime, token, phone.code(runtime))
    assert isinstance(await second_step(runtime, token, phone.recovery_codes[0]), SignedIn)
