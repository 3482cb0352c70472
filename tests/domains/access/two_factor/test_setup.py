"""When the second factor is on, and who sees its secret."""

import pytest

from openslot.domains.access.errors import (
    InvalidCode,
    InvalidPassword,
    PasswordRequired,
    TwoFactorAlreadyEnabled,
    TwoFactorSetupExpired,
)
from openslot.domains.access.models import SecondFactorNeeded, SignedIn
from openslot.domains.access.two_factor import operations as two_factor
from openslot.domains.accounts.models import User
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.access.two_factor.signing_in import count, events, first_step, second_step, sign_in
from tests.support.clocks import MovingClock
from tests.support.passwords import PASSWORD
from tests.support.two_factor import App, in_session


async def test_it_stays_off_until_a_first_code_has_confirmed_it(runtime: Runtime, host: User) -> None:
    work = in_session(runtime, host)
    await two_factor.begin_two_factor_setup(work, host, password=PASSWORD)
    secret = await two_factor.get_two_factor_secret(work, host)

    assert isinstance(await sign_in(runtime, host), SignedIn)
    with pytest.raises(InvalidCode):
        await two_factor.confirm_two_factor_setup(work, host, code="000000")
    assert isinstance(await sign_in(runtime, host), SignedIn)
    codes = await two_factor.confirm_two_factor_setup(work, host, code=App(secret, ()).code(runtime))
    assert len(codes) == 10
    assert isinstance(await sign_in(runtime, host), SecondFactorNeeded)
    assert await events(runtime) == ["turned_on"]


async def test_the_setup_asks_for_the_password(runtime: Runtime, host: User) -> None:
    with pytest.raises(InvalidPassword):
        await two_factor.begin_two_factor_setup(in_session(runtime, host), host, password="wrong")
    assert await count(runtime, "authenticators") == 0


async def test_an_account_without_a_password_can_not_turn_it_on(runtime: Runtime, host: User) -> None:
    await runtime.pool.execute("update users set password_hash = null where id = $1", host.id)
    with pytest.raises(PasswordRequired):
        await two_factor.begin_two_factor_setup(in_session(runtime, host), host, password="")


async def test_only_the_session_that_began_sees_the_secret_and_not_for_long(
    runtime: Runtime, clock: MovingClock, host: User
) -> None:
    session = new_id()
    await two_factor.begin_two_factor_setup(in_session(runtime, host, session), host, password=PASSWORD)
    secret = await two_factor.get_two_factor_secret(in_session(runtime, host, session), host)

    with pytest.raises(TwoFactorSetupExpired):
        await two_factor.get_two_factor_secret(in_session(runtime, host), host)
    with pytest.raises(TwoFactorSetupExpired):
        await two_factor.confirm_two_factor_setup(in_session(runtime, host), host, code=App(secret, ()).code(runtime))
    clock.pass_time(minutes=30)
    with pytest.raises(TwoFactorSetupExpired):
        await two_factor.get_two_factor_secret(in_session(runtime, host, session), host)


async def test_a_confirmed_secret_is_neither_shown_nor_replaced(runtime: Runtime, host: User, phone: App) -> None:
    work = in_session(runtime, host)
    with pytest.raises(TwoFactorAlreadyEnabled):
        await two_factor.begin_two_factor_setup(work, host, password=PASSWORD)
    with pytest.raises(TwoFactorSetupExpired):
        await two_factor.get_two_factor_secret(work, host)
    assert isinstance(await second_step(runtime, await first_step(runtime, host), phone.code(runtime)), SignedIn)


async def test_nothing_at_rest_tells_the_secret_or_a_code(runtime: Runtime, host: User, phone: App) -> None:
    token = await first_step(runtime, host)
    for table in ("authenticators", "recovery_codes", "pending_sign_ins"):
        for row in await runtime.pool.fetch(f"select {table}::text as told from {table}"):
            for secret in (phone.secret, token, *phone.recovery_codes):
                assert secret not in row["told"]
                assert secret.encode().hex() not in row["told"]
