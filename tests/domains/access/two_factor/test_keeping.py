"""Recovery codes, turning it off, and codes that are asked for inside a session."""

import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.errors import InvalidCode, InvalidPassword, TwoFactorNotEnabled
from openslot.domains.access.models import SignedIn
from openslot.domains.access.two_factor import operations as two_factor
from openslot.domains.access.two_factor.operations import has_pending
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Invalid, RateLimited
from openslot.platform.core.work import Runtime
from tests.domains.access.two_factor.signing_in import count, events, first_step, second_step, sign_in
from tests.support.passwords import PASSWORD
from tests.support.two_factor import App, add_host, forget_steps, in_session, turn_on

NEW = "a fresh long password"


async def test_each_recovery_code_is_accepted_once_and_the_user_is_told(
    runtime: Runtime, host: User, phone: App
) -> None:
    first, second = phone.recovery_codes[:2]
    await second_step(runtime, await first_step(runtime, host), first.replace("-", " "))
    with pytest.raises(InvalidCode):
        await second_step(runtime, await first_step(runtime, host), first)
    await second_step(runtime, await first_step(runtime, host), second)

    assert await events(runtime) == ["turned_on", "recovery_code_used", "recovery_code_used"]
    assert (await two_factor.get_two_factor_state(runtime.work(PUBLIC), host)).codes_left == 8


async def test_a_recovery_code_of_somebody_else_is_wrong(runtime: Runtime, host: User, phone: App) -> None:
    other = await turn_on(runtime, await add_host(runtime, "ana"))
    token = await first_step(runtime, host)
    with pytest.raises(InvalidCode):
        await second_step(runtime, token, other.recovery_codes[0])
    assert isinstance(await second_step(runtime, token, phone.recovery_codes[0]), SignedIn)


async def test_new_recovery_codes_replace_the_earlier_ones(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    for password, code, refusal in (("wrong", phone.code(runtime), InvalidPassword), (PASSWORD, "000000", InvalidCode)):
        with pytest.raises(refusal):
            await two_factor.renew_recovery_codes(work, host, password=password, code=code)
    codes = await two_factor.renew_recovery_codes(work, host, password=PASSWORD, code=phone.code(runtime))

    assert not set(codes) & set(phone.recovery_codes)
    token = await first_step(runtime, host)
    with pytest.raises(InvalidCode):
        await second_step(runtime, token, phone.recovery_codes[0])
    assert isinstance(await second_step(runtime, token, codes[0]), SignedIn)
    assert await events(runtime) == ["turned_on", "recovery_codes_renewed", "recovery_code_used"]


async def test_it_is_turned_off_with_the_password_and_a_code(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    for password, code, refusal in (("wrong", phone.code(runtime), InvalidPassword), (PASSWORD, "000000", InvalidCode)):
        with pytest.raises(refusal):
            await two_factor.turn_off_two_factor(work, host, password=password, code=code)
    pending = await first_step(runtime, host)
    await two_factor.turn_off_two_factor(work, host, password=PASSWORD, code=phone.code(runtime))

    assert isinstance(await sign_in(runtime, host), SignedIn)
    assert not await has_pending(runtime.work(PUBLIC), pending)
    assert await count(runtime, "recovery_codes") == 0
    with pytest.raises(TwoFactorNotEnabled):
        await two_factor.turn_off_two_factor(work, host, password=PASSWORD, code=phone.code(runtime))
    assert await events(runtime) == ["turned_on", "turned_off"]


async def test_guessing_inside_a_session_is_limited(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    for _ in range(5):
        with pytest.raises(InvalidCode):
            await two_factor.turn_off_two_factor(work, host, password=PASSWORD, code="000000")
    with pytest.raises(RateLimited):
        await two_factor.turn_off_two_factor(work, host, password=PASSWORD, code=phone.code(runtime))


async def test_the_operator_turns_it_off_for_someone_who_lost_everything(
    runtime: Runtime, host: User, phone: App
) -> None:
    for was_on in (True, False):
        async with runtime.transaction(OPERATOR) as work:
            assert await two_factor.drop_two_factor(work, host) is was_on

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
            await two_factor.turn_off_two_factor(work, host, password=PASSWORD, code="000000")
        except RateLimited:
            refused += 1
        except InvalidCode:
            continue

    assert refused >= 6
    for verb in (two_factor.turn_off_two_factor, two_factor.renew_recovery_codes):
        with pytest.raises(RateLimited):
            await verb(in_session(runtime, host), host, password=PASSWORD, code=phone.code(runtime))
    with pytest.raises(RateLimited):
        await two_factor.confirm_second_factor(in_session(runtime, host), host, phone.code(runtime))


async def test_a_code_is_confirmed_once_and_only_where_the_second_factor_is_on(
    runtime: Runtime, host: User, user: User, phone: App
) -> None:
    work, code = in_session(runtime, host), phone.code(runtime)
    await two_factor.confirm_second_factor(work, host, code)

    with pytest.raises(InvalidCode):
        await two_factor.confirm_second_factor(work, host, code)
    with pytest.raises(Invalid) as none:
        await two_factor.confirm_second_factor(work, host, " ")
    assert none.value.faults == {"code": "Enter a code"}
    await two_factor.confirm_second_factor(in_session(runtime, user), user, "")


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
    assert (await two_factor.get_two_factor_state(runtime.work(PUBLIC), host)).on_since is not None


async def test_a_secret_that_no_key_opens_leaves_the_recovery_codes(runtime: Runtime, host: User, phone: App) -> None:
    await runtime.pool.execute("update authenticators set secret = 'lost'")
    await forget_steps(runtime)
    token = await first_step(runtime, host)

    with pytest.raises(InvalidCode):
        await second_step(runtime, token, phone.code(runtime))
    assert isinstance(await second_step(runtime, token, phone.recovery_codes[0]), SignedIn)
