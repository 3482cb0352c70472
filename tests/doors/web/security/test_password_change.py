"""Whoever changes the password of an account with two-factor authentication needs a code too."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.page import read_page
from tests.support.passwords import PASSWORD
from tests.support.two_factor import App, forget_steps

NEW = "a fresh long password"
PAGE, CHANGE = "/account", "/account/password"


async def find_hash(runtime: Runtime, user: User) -> str:
    return str(await runtime.pool.fetchval("select password_hash from users where id = $1", user.id))


async def test_without_a_second_factor_no_code_is_asked_for(member: httpx2.AsyncClient) -> None:
    assert "code" not in read_page(await member.get(PAGE)).fields
    assert (await member.post(CHANGE, data={"current": PASSWORD, "password": NEW})).status_code == 303


async def test_without_a_right_code_the_password_stays(
    member: httpx2.AsyncClient, runtime: Runtime, host: User, phone: App
) -> None:
    before = await find_hash(runtime, host)
    for code in ("", "  ", "000000", "0000-0000-0000-0000-0000", "x" * 101):
        answer = await member.post(CHANGE, data={"current": PASSWORD, "password": NEW, "code": code})

        assert answer.status_code == 400, code
        assert read_page(answer).faults.keys() == {"code"}, code
        assert await find_hash(runtime, host) == before, code
        assert (await member.get(PAGE)).status_code == 200, code


@pytest.mark.parametrize("is_from_app", [True, False], ids=["app", "recovery code"])
async def test_a_code_of_the_app_or_a_recovery_code_changes_it(
    member: httpx2.AsyncClient, runtime: Runtime, host: User, phone: App, is_from_app: bool
) -> None:
    before = await find_hash(runtime, host)
    assert "code" in read_page(await member.get(PAGE)).fields
    code = phone.code(runtime) if is_from_app else phone.recovery_codes[0]
    answer = await member.post(CHANGE, data={"current": PASSWORD, "password": NEW, "code": code})

    assert answer.status_code == 303
    assert await find_hash(runtime, host) != before


async def test_a_wrong_password_uses_no_code_up(member: httpx2.AsyncClient, runtime: Runtime, phone: App) -> None:
    code = phone.code(runtime)
    wrong = await member.post(CHANGE, data={"current": "wrong", "password": NEW, "code": code})

    assert read_page(wrong).faults.keys() == {"current"}
    assert (await member.post(CHANGE, data={"current": PASSWORD, "password": NEW, "code": code})).status_code == 303


async def test_guessing_codes_is_limited(member: httpx2.AsyncClient, runtime: Runtime, host: User, phone: App) -> None:
    before = await find_hash(runtime, host)
    sent = {"current": PASSWORD, "password": NEW}
    codes = [(await member.post(CHANGE, data=sent | {"code": f"00000{n}"})).status_code for n in range(6)]
    await forget_steps(runtime)

    assert codes == [400] * 5 + [429]
    assert (await member.post(CHANGE, data=sent | {"code": phone.code(runtime)})).status_code == 429
    assert await find_hash(runtime, host) == before
