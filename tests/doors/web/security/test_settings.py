"""The security settings: turning two-factor authentication on and off, and the recovery codes."""

import base64
import html
import re
from contextlib import nullcontext

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.access.two_factor.operations import code_at, step_of
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.host import open_session
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.passwords import PASSWORD
from tests.support.statements import CountingPool, count_statements
from tests.support.two_factor import App, turn_on

HERE = "/settings/security"
SETUP, CONFIRM, OFF, CODES = (
    f"{HERE}/{path}" for path in ("two-factor", "two-factor/confirm", "two-factor/off", "recovery-codes")
)
COSTS = {HERE: 2, SETUP: 2, OFF: 2, CODES: 2}


def secret_on(page: str) -> str:
    found = re.search(r'id="secret"[^>]*>([A-Z2-7 ]+)<', page)
    assert found is not None
    return found[1].replace(" ", "")


def codes_on(page: str) -> list[str]:
    found = re.search(r'id="codes"[^>]*>([\d\-\n]+)<', page)
    assert found is not None
    return found[1].split()


async def test_it_is_turned_on_with_the_password_and_a_first_code(
    member: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    assert ">Off<" in (await member.get(HERE)).text
    begun = await member.post(SETUP, data={"current": PASSWORD})
    shown = await member.get(begun.headers["location"])
    secret = secret_on(shown.text)
    image = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', shown.text)
    done = await member.post(CONFIRM, data={"code": code_at(secret, step_of(runtime.clock()))})

    assert (begun.status_code, begun.headers["location"]) == (303, SETUP)
    assert shown.headers["cache-control"] == done.headers["cache-control"] == "no-store"
    assert image is not None
    assert base64.b64decode(image[1]).startswith(b"<svg")
    assert done.status_code == 200
    assert "Two-factor authentication is on" in read_page(done).notices[0]
    assert len(codes_on(done.text)) == 10
    assert ">On<" in (await member.get(HERE)).text
    assert not set(codes_on(done.text)) & set(re.findall(r"[\d-]{23}", (await member.get(HERE)).text))


async def test_the_codes_can_be_downloaded_as_text(member: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    phone = await turn_on(runtime, host)
    page = (await member.post(CODES, data={"current": PASSWORD, "code": phone.code(runtime)})).text
    found = re.search(r'href="data:text/plain;charset=utf-8;base64,([^"]+)" download="([^"]+)"', page)

    assert found is not None
    assert found[2] == "openslot-recovery-codes.txt"
    told = base64.b64decode(html.unescape(found[1])).decode().split("\n")
    assert told[:3] == ["http://127.0.0.1:8000", host.email, ""]
    assert told[3:-1] == codes_on(page)


WRONG_PASSWORDS: list[tuple[str, str]] = [
    ("wrong", "Is not your current password"),
    ("", "Enter your current password"),
    ("x" * 201, "Must have at most 200 characters"),
    ("a\x00b", "Has characters that are not allowed"),
]


async def test_a_setup_that_can_not_begin_says_why_at_its_field(member: httpx2.AsyncClient) -> None:
    for current, words in WRONG_PASSWORDS:
        answer = await member.post(SETUP, data={"current": current})

        assert answer.status_code == 400, (current, words)
        assert read_page(answer).faults == {"current": words}, (current, words)
        assert 'aria-invalid="true"' in answer.text, (current, words)


async def test_a_wrong_first_code_is_told_at_its_field_and_keeps_the_secret(
    member: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    await member.post(SETUP, data={"current": PASSWORD})
    secret = secret_on((await member.get(SETUP)).text)
    for code, words in (("123123", "Is wrong, has expired or was already used"), ("", "Enter a code")):
        answer = await member.post(CONFIRM, data={"code": code})

        assert answer.status_code == 400
        assert read_page(answer).faults == {"code": words}
        assert secret_on(answer.text) == secret
    assert (await member.post(CONFIRM, data={"code": "1\n2"})).status_code == 400


async def test_a_setup_that_nobody_began_leads_back(member: httpx2.AsyncClient) -> None:
    assert (await member.get(SETUP)).headers["location"] == HERE
    assert (await member.post(CONFIRM, data={"code": "123123"})).headers["location"] == f"{HERE}?done=expired"
    assert "Start again" in read_page(await member.get(f"{HERE}?done=expired")).notices[0]


async def test_another_session_does_not_see_the_secret(
    member: httpx2.AsyncClient, client: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    await member.post(SETUP, data={"current": PASSWORD})
    client.headers.update(await open_session(runtime, host))

    assert (await client.get(SETUP)).status_code == 303


async def test_it_is_turned_off_with_both_factors(
    member: httpx2.AsyncClient, runtime: Runtime, host: User, phone: App
) -> None:
    for path in (OFF, CODES):
        assert (await member.get(path)).status_code == 200
        for current, code, words in (
            ("wrong", phone.code(runtime), "Is not your current password"),
            (PASSWORD, "123123", "Is wrong, has expired or was already used"),
            (PASSWORD, "", "Enter a code"),
        ):
            answer = await member.post(path, data={"current": current, "code": code})
            assert answer.status_code == 400, path
            assert words in read_page(answer).faults.values()
            await runtime.pool.execute("delete from wrong_passwords")
    answer = await member.post(OFF, data={"current": PASSWORD, "code": phone.recovery_codes[0]})

    assert answer.headers["location"] == f"{HERE}?done=off"
    assert "Two-factor authentication is off" in read_page(await member.get(answer.headers["location"])).notices[0]
    for path in (OFF, CODES):
        assert (await member.get(path)).headers["location"] == HERE
        sent = await member.post(path, data={"current": PASSWORD, "code": "123123"})
        assert sent.headers["location"] == HERE


async def test_few_codes_are_a_warning(member: httpx2.AsyncClient, runtime: Runtime, phone: App) -> None:
    assert "few recovery codes" not in (await member.get(HERE)).text
    await runtime.pool.execute(
        "update recovery_codes set used_at = now() where hash in (select hash from recovery_codes limit 8)"
    )
    page = (await member.get(HERE)).text

    assert "few recovery codes" in page
    assert "<dd>2</dd>" in page
    assert phone.recovery_codes[0] not in page


async def test_an_account_without_a_password_is_told_what_to_do(
    member: httpx2.AsyncClient, runtime: Runtime, host: User
) -> None:
    await runtime.pool.execute("update users set password_hash = null where id = $1", host.id)

    assert "Your account has no password" in read_page(await member.get(HERE)).text
    assert (await member.post(SETUP, data={"current": "x"})).status_code == 409


@pytest.mark.parametrize("path", COSTS)
async def test_no_page_needs_more_than_five_statements(
    settings: Settings, runtime: Runtime, clock: MovingClock, host: User, path: str
) -> None:
    session = await open_session(runtime, host)
    if path != SETUP:
        await turn_on(runtime, host)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings, clock=clock)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session, timeout=60) as client:
        if path == SETUP:
            assert (await client.post(SETUP, data={"current": PASSWORD})).status_code == 303
        answer = await count_statements(client, pool, path)

    assert answer == (200, COSTS[path]), pool.asked
