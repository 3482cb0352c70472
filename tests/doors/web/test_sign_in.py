"""Signing in and out: sessions, cookies, where one lands, and how often one may be wrong."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.people import operations as people
from openslot.doors.web.shared.sign_in import local_path
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.work import Runtime
from tests.doors.web.conftest import carry_csrf_token, sign_in
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

WRONG = "not the password"
NEXT = (
    ("/account?done=password", "/account?done=password"),
    ("/api/docs", "/api/docs"),
    ("//evil.example", "/"),
    ("/\\evil.example", "/"),
    ("https://evil.example", "/"),
    ("javascript:alert(1)", "/"),
    ("/ü", "/"),
    ("/\t/evil.example", "/"),
    ("/\r\nSet-Cookie: a=b", "/"),
    ("/" + "x" * 2000, "/"),
    ("", "/"),
)


async def test_the_right_password_opens_the_account(client: httpx2.AsyncClient, user: User) -> None:
    answer = await sign_in(client, user.email)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert (await client.get("/account")).status_code == 200


async def test_letter_case_and_spaces_of_the_address_do_not_matter(client: httpx2.AsyncClient, user: User) -> None:
    assert (await sign_in(client, f" {user.email.upper()} ")).status_code == 303


async def test_the_cookies_are_for_this_site_and_no_script(client: httpx2.AsyncClient, user: User) -> None:
    session, device = (await sign_in(client, user.email)).headers.get_list("set-cookie")

    assert re.match(r"openslot_session=[\w-]{43};", session)
    assert re.match(r"openslot_device=[\w-]{96};", device)
    for cookie, days in ((session, 30), (device, 365)):
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert parts == {"httponly", "samesite=lax", "path=/", f"max-age={days * 86400}"}


@pytest.fixture
async def secure(database_url: str, settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client of a server that the world reaches by https."""
    flags = {"database_url": database_url, "data_dir": settings.data_dir, "base_url": "https://slots.example"}
    chosen = load_settings({**flags, "log_level": "error"}, environ={})
    async with serving(create_app(chosen)) as base_url, connect(base_url) as opened:
        yield opened


async def test_with_https_the_cookies_are_bound_to_this_host(secure: httpx2.AsyncClient, user: User) -> None:
    session, device = (await sign_in(secure, user.email)).headers.get_list("set-cookie")

    assert re.match(r"__Host-openslot_session=[\w-]{43};", session)
    assert re.match(r"__Host-openslot_device=[\w-]{96};", device)
    for cookie, days in ((session, 30), (device, 365)):
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert parts == {"httponly", "samesite=lax", "path=/", f"max-age={days * 86400}", "secure"}


async def test_with_https_only_the_cookie_that_nobody_else_can_set_is_read(
    secure: httpx2.AsyncClient, user: User
) -> None:
    cookie = (await sign_in(secure, user.email)).headers.get_list("set-cookie")[0].partition(";")[0]
    secure.cookies.clear()
    value = cookie.partition("=")[2]
    plain = await secure.get("/account", headers={"cookie": f"openslot_session={value}"})
    right = await secure.get("/account", headers={"cookie": cookie})
    both = await secure.get("/account", headers={"cookie": f"openslot_session=planted; {cookie}"})

    assert [answer.status_code for answer in (plain, right, both)] == [303, 200, 200]


async def test_with_https_signing_out_deletes_the_cookie_by_its_name(secure: httpx2.AsyncClient, user: User) -> None:
    cookie = (await sign_in(secure, user.email)).headers.get_list("set-cookie")[0].partition(";")[0]
    secure.cookies.clear()
    secure.headers["cookie"] = cookie
    await carry_csrf_token(secure)
    gone = (await secure.post("/logout")).headers["set-cookie"]

    assert {part.strip().lower() for part in gone.split(";")} == {
        '__host-openslot_session=""',
        "httponly",
        "samesite=lax",
        "path=/",
        "max-age=0",
        "secure",
    }


async def test_with_http_the_prefixed_name_is_not_read(client: httpx2.AsyncClient, user: User) -> None:
    value = (await sign_in(client, user.email)).headers["set-cookie"].partition(";")[0].partition("=")[2]
    client.cookies.clear()

    assert (await client.get("/account", headers={"cookie": f"__Host-openslot_session={value}"})).status_code == 303
    assert (await client.get("/account", headers={"cookie": f"openslot_session={value}"})).status_code == 200


async def test_each_sign_in_is_a_session_of_its_own(client: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    client.cookies.set("openslot_session", "chosen-by-somebody-else")
    first = (await sign_in(client, user.email)).headers["set-cookie"]
    client.cookies.clear()
    second = (await sign_in(client, user.email)).headers["set-cookie"]

    assert first != second
    assert "chosen-by-somebody-else" not in first + second
    assert await runtime.pool.fetchval("select count(*) from sessions") == 2


async def test_a_wrong_sign_in_is_told_at_the_form_and_keeps_the_address(
    client: httpx2.AsyncClient, user: User
) -> None:
    for email in (user.email, "nobody@lindqvist.example"):
        answer = await sign_in(client, email, WRONG)

        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert "The email address or the password is wrong" in read_page(answer).notices[0]
        assert read_page(answer).fields["email"].value == email
        assert WRONG not in answer.text


async def test_a_disabled_user_stays_outside(client: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)

    assert (await sign_in(client, user.email)).status_code == 401


async def test_a_session_ends_when_its_user_is_disabled(
    member: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)

    assert (await member.get("/account")).status_code == 303


@pytest.mark.parametrize(("wanted", "lands"), NEXT)
def test_only_a_path_of_ours_is_where_one_lands(wanted: str, lands: str) -> None:
    assert local_path(wanted) == lands


async def test_one_lands_on_the_page_that_was_asked_for(client: httpx2.AsyncClient, user: User) -> None:
    for wanted, lands in (("/api/docs", "/api/docs"), ("/\t//evil.example", "/")):
        assert (await client.get("/login", params={"next": wanted})).status_code == 200
        sent = await client.post("/login", data={"email": user.email, "password": PASSWORD, "next": wanted})
        again = await client.get("/login", params={"next": wanted})
        assert (sent.status_code, sent.headers["location"]) == (303, lands)
        assert (again.status_code, again.headers["location"]) == (303, lands)
        client.cookies.clear()


async def test_signing_in_twice_leads_on(member: httpx2.AsyncClient, user: User) -> None:
    assert (await member.get("/login")).headers["location"] == "/"
    assert (await sign_in(member, user.email, WRONG)).headers["location"] == "/"


async def test_signing_out_ends_the_session(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    kept = dict(member.cookies)
    answer = await member.post("/logout")
    member.cookies.update(kept)

    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert (await member.get("/account")).headers["location"] == "/login?next=/account"
    assert await runtime.pool.fetchval("select count(*) from sessions") == 0


async def test_nobody_is_signed_out_by_a_link(member: httpx2.AsyncClient) -> None:
    assert (await member.get("/logout")).status_code == 405
    assert (await member.get("/account")).status_code == 200


async def test_the_start_leads_to_where_one_can_begin(client: httpx2.AsyncClient, user: User) -> None:
    assert (await client.get("/")).headers["location"] == "/login"
    await sign_in(client, user.email)
    assert (await client.get("/")).status_code == 200


async def test_five_wrong_tries_then_a_wait_even_for_the_right_one(client: httpx2.AsyncClient, user: User) -> None:
    tries = [(await sign_in(client, user.email, WRONG)).status_code for _ in range(5)]
    sixth = await sign_in(client, user.email, WRONG)
    right = await sign_in(client, user.email)

    assert tries == [401] * 5
    assert (sixth.status_code, right.status_code) == (429, 429)
    assert 1 <= int(right.headers["retry-after"]) <= 60
    assert re.search(r"Wait \d+ seconds?, then try again", right.text)


async def test_tries_at_many_accounts_count_for_their_address(client: httpx2.AsyncClient) -> None:
    codes = [(await sign_in(client, f"guess{n}@lindqvist.example", WRONG)).status_code for n in range(6)]

    assert codes == [401] * 5 + [429]


async def test_tries_from_many_addresses_count_for_their_account(
    client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    codes = []
    for _ in range(6):
        codes.append((await sign_in(client, user.email, WRONG)).status_code)
        await runtime.pool.execute("delete from rate_log where bucket = 'login:127.0.0.1'")

    assert codes == [401] * 5 + [429]


async def test_right_sign_ins_are_never_charged(client: httpx2.AsyncClient, user: User) -> None:
    for _ in range(7):
        assert (await sign_in(client, user.email)).status_code == 303
        client.cookies.clear()


async def test_of_many_wrong_tries_at_once_five_are_heard(settings: Settings, user: User) -> None:
    # A slow machine may hash for longer than a request waits for a connection.
    patient = replace(settings, database_wait_seconds=60)
    async with serving(create_app(patient)) as url, connect(url) as client:
        answers = await asyncio.gather(*(sign_in(client, user.email, WRONG) for _ in range(40)))

    codes = sorted(answer.status_code for answer in answers)
    assert codes == [401] * 5 + [429] * 35


async def test_a_wrong_try_leaves_nothing_but_its_charge(
    client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    await sign_in(client, user.email, WRONG)

    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
    assert await runtime.pool.fetchval("select count(*) from rate_log where bucket like 'login:%'") == 1
    assert await runtime.pool.fetchval("select count(*) from wrong_passwords") == 1
