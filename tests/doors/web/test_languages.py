"""Every page in every language: what is said, in which direction, and that no English is left."""

import re
from collections.abc import AsyncIterator
from html import unescape

import httpx2
import pytest
from playwright.async_api import Browser

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES
from tests.doors.web.conftest import carry_csrf_token
from tests.support.browsers import open_page
from tests.support.languages import check_language, english_texts, list_for_layout
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

FORM = {"content-type": "application/x-www-form-urlencoded"}


async def public_pages(client: httpx2.AsyncClient, link: str) -> AsyncIterator[httpx2.Response]:
    """Ask for every page that needs no session."""
    yield await client.get("/login")
    yield await client.post("/login", data={"email": "", "password": ""})
    yield await client.post("/login", data={"email": "a\x00", "password": "x" * 201})
    for _ in range(6):
        wrong = await client.post("/login", data={"email": "nobody@lindqvist.example", "password": "wrong"})
    yield wrong
    yield await client.get(link)
    yield await client.post(link, data={"name": "", "email": "nobody", "password": "short", "timezone": "Mars/Base"})
    yield await client.get("/setup?token=wrong")
    yield await client.get("/nothing")
    yield await client.request("PUT", "/login")
    yield await client.post("/login", json={})
    yield await client.post("/login", content=b"a=" + b"x" * 300_000, headers=FORM)
    yield await client.post("/login", content=b"email", headers=FORM)
    yield await client.post("/login", data={"email": "a"}, headers={"sec-fetch-site": "cross-site"})
    yield await client.get("/login?" + "x" * 9000)
    yield await client.get("/api/docs")


async def member_pages(client: httpx2.AsyncClient, keys: list[str]) -> AsyncIterator[httpx2.Response]:
    """Ask for every page of a user who has keys and no bookings."""
    yield await client.get("/")
    yield await client.get("/bookings")
    yield await client.get("/bookings?view=past&q=zqx")
    yield await client.get("/bookings?view=cancelled&from=x&to=y")
    yield await client.get("/bookings/new")
    yield await client.post("/bookings", data={"name": "", "email": "x", "timezone": "Mars/Base"})
    yield await client.get("/help")
    yield await client.get("/account")
    yield await client.get("/account?done=password")
    yield await client.post("/account/keys", data={"name": "", "expires": ""})
    yield await client.post("/account/keys", data={"name": "Zqx", "expires": "30"})
    yield await client.get(f"/account/keys/{keys[0]}/revoke")
    await client.post(f"/account/keys/{keys[0]}/revoke")
    yield await client.get("/account?done=revoked")
    yield await client.get("/account/keys/01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f/revoke")
    yield await client.post("/account/password", data={"current": "wrong", "password": "short"})
    yield await client.post("/account/password", data={"current": "wrong", "password": "long enough to be one"})
    yield await client.get("/nothing")


@pytest.mark.rest("reads every page in every language")
async def test_what_anyone_sees_follows_the_browsers_language(
    client: httpx2.AsyncClient, link: str, runtime: Runtime
) -> None:
    for language in list_for_layout():
        await runtime.pool.execute("delete from rate_log")
        client.headers["accept-language"] = f"{language};q=0.9, zh"
        english = english_texts(language)
        statuses = []
        async for answer in public_pages(client, link):
            check_language(answer, language, english)
            statuses.append(answer.status_code)

        assert statuses == [200, 400, 400, 429, 200, 400, 403, 404, 405, 415, 413, 400, 403, 400, 200], language


async def test_what_a_member_sees_follows_the_members_own_language(
    client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    for language in list_for_layout():
        await runtime.pool.execute("update users set locale = $1 where id = $2", language, user.id)
        async with runtime.transaction(OPERATOR) as work:
            made = [(await access.create_api_key(work, user, name=name))[1] for name in ("Qxz", "Xqz")]
            token = await access.begin_session(work, user, user_agent="")
        client.headers |= {"accept-language": "de" if language != "de" else "fr", "cookie": f"openslot_session={token}"}
        await carry_csrf_token(client)
        english = english_texts(language)
        statuses = []
        async for answer in member_pages(client, [str(key.id) for key in made]):
            check_language(answer, language, english)
            statuses.append(answer.status_code)

        expected = [200, 200, 200, 400, 200, 400, 200, 200, 200, 400, 200, 200, 200, 404, 400, 400, 404]
        assert statuses == expected, language


async def test_a_plan_that_ended_is_told_in_the_members_language(
    client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    await runtime.pool.execute(
        "update users set locale = 'de', plan_until = '2026-01-31 12:00Z' where id = $1", user.id
    )
    async with runtime.transaction(OPERATOR) as work:
        token = await access.begin_session(work, user, user_agent="")
    answer = await client.get("/account", headers={"cookie": f"openslot_session={token}"})

    assert "Kostenlos, da Pro am 31. Januar 2026 endete" in read_page(answer).text
    assert read_page(answer).notices == ["API-Schlüssel gibt es in den Tarifen Pro und Business."]


async def test_faults_stand_below_their_fields_in_the_pages_language(client: httpx2.AsyncClient, link: str) -> None:
    sent = {"name": "x" * 201, "email": "nobody", "password": "short", "timezone": "Mars/Base"}
    answer = await client.post(link, data=sent, headers={"accept-language": "fr"})

    for fault in (
        "Doit comporter au plus 200 caractères",
        "N’est pas une adresse e-mail valide",
        "Doit comporter au moins 10 caractères",
        "N’est pas un fuseau horaire",
    ):
        assert fault in read_page(answer).text


async def test_the_first_account_keeps_the_language_of_its_set_up(
    client: httpx2.AsyncClient, link: str, runtime: Runtime
) -> None:
    sent = {"name": "Ada", "email": "ada@lindqvist.example", "password": PASSWORD, "timezone": "UTC"}
    answer = await client.post(link, data=sent, headers={"accept-language": "ja-JP, en;q=0.5"})

    assert answer.status_code == 303
    assert await runtime.pool.fetchval("select locale from users") == "ja"
    assert 'lang="ja"' in (await client.get("/account", headers={"accept-language": "de"})).text


async def test_zones_are_listed_by_their_names_in_the_pages_language(client: httpx2.AsyncClient, link: str) -> None:
    async def list_zones(language: str) -> str:
        page = (await client.get(link, headers={"accept-language": language})).text
        match = re.search(r'data-zones="([^"]+)"', page)
        assert match is not None
        return (await client.get(unescape(match[1]))).text

    german, english = await list_zones("de"), await list_zones("en")

    assert 'role="group" aria-label="Europa"' in german
    assert 'data-zone="Europe/Vienna" data-label="Wien (Österreich)"' in german
    assert 'data-zone="Europe/Vienna" data-label="Vienna (Austria)"' in english
    values = re.compile(r'data-zone="([^"]+)"')
    assert sorted(values.findall(german)) == sorted(values.findall(english))


LOOK = """() => [document.documentElement.lang, document.documentElement.scrollWidth - innerWidth,
  ...[".brand img", ".brand"].map((one) => document.querySelector(one).getBoundingClientRect().x)]"""


@pytest.mark.rest("reads every page in every language")
async def test_pages_fit_a_phone_in_every_language_and_arabic_begins_at_the_right(
    browser: Browser, client: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    base = str(client.base_url)
    async with runtime.transaction(OPERATOR) as work:
        await access.create_api_key(work, user, name="Website")
        token = await access.begin_session(work, user, user_agent="")
    page = await open_page(browser, client, viewport={"width": 360, "height": 740})
    for language in list_for_layout():
        await runtime.pool.execute("update users set locale = $1 where id = $2", language, user.id)
        await page.context.clear_cookies()
        await page.set_extra_http_headers({"accept-language": language})
        for path in ("/login", "/nothing", "/account"):
            if path == "/account":
                await page.context.add_cookies([{"name": "openslot_session", "value": token, "url": base}])
            await page.goto(path)
            told, overflow, mark, name = await page.evaluate(LOOK)
            assert told == language, path
            assert overflow == 0, (language, path)
            assert (mark > name + 1) == (LANGUAGES[language].direction == "rtl"), (language, path)


async def test_the_apis_answers_are_english_in_every_language(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/v1/me", headers={"accept-language": "de"})

    assert answer.json() == {"error": "Missing or invalid credentials"}
