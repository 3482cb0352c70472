"""The first account of an empty installation, by a link that works once."""

import asyncio

import httpx2
import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import UserWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

FORM = {"name": "Ada Admin", "email": "ada@openslot.example", "password": PASSWORD, "timezone": "Europe/Berlin"}

WRONG_FIELDS = (
    ("name", "", "Enter your name"),
    ("name", "x" * 201, "Must have at most 200 characters"),
    ("email", "", "Enter your email address"),
    ("email", "ada", "Is not a valid email address"),
    ("email", "a\x00da@openslot.example", "Is not a valid email address"),
    ("password", "short", "Must have at least 10 characters"),
    ("timezone", "Mars/Base", "Is not a time zone; use a name such as Europe/Berlin"),
)


async def test_the_link_opens_the_first_account_and_signs_in(
    client: httpx2.AsyncClient, link: str, runtime: Runtime
) -> None:
    shown = await client.get(link)
    done = await client.post(link, data=FORM)
    account = await client.get("/account")

    assert (shown.status_code, done.status_code, done.headers["location"]) == (200, 303, "/welcome")
    assert "Ada Admin" in read_page(account).text
    assert "Europe/Berlin" in read_page(account).text
    ada = await accounts.get_user_by_email(runtime.work(OPERATOR), FORM["email"])
    assert ada.is_admin


@pytest.mark.parametrize("path", ["/", "/login"])
async def test_without_accounts_the_first_page_says_where_the_link_is(
    client: httpx2.AsyncClient, link: str, path: str
) -> None:
    shown = await client.get(path)
    text = read_page(shown).text

    assert (shown.status_code, "There is no account yet" in text, "journalctl -u openslot" in text) == (200, True, True)
    assert link.partition("=")[2] not in shown.text
    assert 'href="/login"' not in shown.text
    await client.post(link, data=FORM)
    client.cookies.clear()
    assert (await client.get("/")).headers["location"] == "/login"
    assert read_page(await client.get("/login")).headings == ["Sign in"]


async def test_the_zone_is_not_asked_for_again(client: httpx2.AsyncClient, link: str) -> None:
    await client.post(link, data={**FORM, "timezone": "UTC"})
    assert (await client.get("/welcome")).headers["location"] == "/welcome/hours"


async def test_the_link_works_once(client: httpx2.AsyncClient, link: str) -> None:
    await client.post(link, data=FORM)
    for answer in (await client.get(link), await client.post(link, data=FORM)):
        assert answer.status_code == 403
        assert "Restart the service" in read_page(answer).text


async def test_of_two_at_once_one_becomes_the_administrator(
    client: httpx2.AsyncClient, link: str, runtime: Runtime
) -> None:
    forms = [{**FORM, "email": f"ada{n}@openslot.example"} for n in range(5)]
    answers = await asyncio.gather(*(client.post(link, data=form, timeout=60) for form in forms))

    assert sorted(answer.status_code for answer in answers) == [303, 403, 403, 403, 403]
    assert await runtime.pool.fetchval("select count(*) from users") == 1


async def test_the_link_closes_when_somebody_lives_here(
    client: httpx2.AsyncClient, link: str, runtime: Runtime
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.add_user(work, UserWanted(email="first@openslot.example", name="First"))

    assert (await client.get(link)).status_code == 403
    assert (await client.post(link, data=FORM)).status_code == 403


async def test_a_wrong_link_is_refused(client: httpx2.AsyncClient, link: str) -> None:
    for token in ("", "wrong", "%00", "%ff", "ü" * 500):
        assert (await client.get(f"/setup?token={token}")).status_code == 403, token
        assert (await client.post(f"/setup?token={token}", data=FORM)).status_code == 403, token
    assert (await client.get(link)).status_code == 200


async def test_a_wrong_field_is_told_and_the_link_stays_good(client: httpx2.AsyncClient, link: str) -> None:
    for field, value, words in WRONG_FIELDS:
        wrong = await client.post(link, data={**FORM, field: value})

        assert wrong.status_code == 400, words
        assert words in read_page(wrong).faults.values()
        assert PASSWORD not in wrong.text
    assert (await client.post(link, data=FORM)).status_code == 303
