"""Forms of a signed-in user are refused without the token of their session."""

import re
from pathlib import Path

import httpx2
import pytest

import openslot.doors.web
from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.doors.web.all_routes.conftest import book, client, clock, settings, stranger, user, values
from tests.doors.web.all_routes.paths import WebRoute, fill, list_routes
from tests.doors.web.conftest import read_csrf_token, sign_in
from tests.support.forms import from_other_sites
from tests.support.passwords import PASSWORD
from tests.support.table_contents import read_tables

__all__ = ["book", "client", "clock", "settings", "stranger", "user", "values"]

TEMPLATES = Path(openslot.doors.web.__file__).parent / "templates"
# Forms that work without a session.
PUBLIC = {
    "forgot.html",
    "invite.html",
    "login.html",
    "reset.html",
    "setup.html",
    "signup.html",
    "two_factor.html",
    "unpaid.html",
    "unsubscribe.html",
    "verify.html",
}
# What these do is decided by a password or by a link, never by who is signed in.
WITHOUT_SESSION = {
    "/login",
    "/login/two-factor",
    "/signup",
    "/verify/{token}",
    "/password/forgot",
    "/password/reset/{token}",
    "/invite/{token}",
    "/setup",
    "/unsubscribe/{token}",
    "/manage/{token}/cancel",
    "/manage/{token}/give-up",
    "/manage/{token}/messages",
    "/manage/{token}/reschedule",
    "/manage/{token}/withdraw",
    "/wait-list/{token}",
    "/wait-list/{token}/confirm",
    "/wait-list/{token}/decline",
    "/wait-list/{token}/leave",
    "/{username}/{slug}/wait-list",
    "/{username}/{slug}",
    "/team/{team}/{slug}",
}


def protected_posts() -> list[WebRoute]:
    """List all forms that act for the signed-in user."""
    return [route for route in list_routes("POST") if route.needs_session]


async def test_a_form_without_the_token_of_the_session_is_refused(
    member: httpx2.AsyncClient, runtime: Runtime, values: dict[str, str]
) -> None:
    before = await read_tables(runtime)
    right = member.headers.pop("x-csrf-token")
    wrong = ("", "00" * 16, right[:-2], right.replace(right[0], "é"), right + "00")
    # One door looks at all forms: each is tried without a token, and one with every token that is not its own.
    paths = [fill(route, values) for route in protected_posts()]
    for path, token in [*((path, "") for path in paths), *(("/logout", token) for token in wrong)]:
        answer = await member.post(path, data={"csrf": token})

        assert answer.status_code == 403, (path, token)
        assert "out of date" in answer.text, (path, token)
    assert await read_tables(runtime) == before


def test_every_form_that_takes_no_token_works_without_a_session() -> None:
    assert {route.path for route in list_routes("POST") if not route.needs_session} == WITHOUT_SESSION


@pytest.mark.rest("opens every page or sends every form")
async def test_a_form_of_another_site_is_refused_even_with_the_token(
    member: httpx2.AsyncClient, runtime: Runtime, values: dict[str, str]
) -> None:
    before = await read_tables(runtime)
    # What a mail program sends comes from anywhere, without a cookie.
    forms = [route for route in list_routes("POST") if route.path != "/unsubscribe/{token}"]
    for path, headers in from_other_sites(fill(route, values) for route in forms):
        answer = await member.post(path, data={"csrf": member.headers["x-csrf-token"]}, headers=headers)

        assert answer.status_code == 403, (path, headers)
        assert "another site" in answer.text, (path, headers)
    assert await read_tables(runtime) == before


async def test_the_token_may_come_in_a_field_or_in_a_header(member: httpx2.AsyncClient) -> None:
    right = member.headers.pop("x-csrf-token")
    key = {"name": "Website", "expires": "never"}

    assert (await member.post("/account/keys", data=key)).status_code == 403
    assert (await member.post("/account/keys", data={**key, "csrf": right})).status_code == 200
    assert (await member.post("/account/keys", data=key, headers={"x-csrf-token": right})).status_code == 200
    assert (await member.post("/account/keys", files={"csrf": (None, right)}, data=key)).status_code == 200


async def test_the_token_of_another_session_is_refused(client: httpx2.AsyncClient, user: User) -> None:
    await sign_in(client, user.email)
    first = read_csrf_token((await client.get("/account")).text)
    client.cookies.clear()
    await client.post("/login", data={"email": user.email, "password": PASSWORD})
    second = read_csrf_token((await client.get("/account")).text)

    assert first != second
    assert (await client.post("/logout", data={"csrf": first})).status_code == 403
    assert (await client.post("/logout", data={"csrf": second})).status_code == 303


def test_every_form_of_a_signed_in_user_carries_the_token() -> None:
    for template in sorted(TEMPLATES.rglob("*.html")):
        if template.name in PUBLIC or template.parent.name == "booking":
            continue
        for form in re.findall(r'<form [^>]*method="post".*?</form>', template.read_text(), re.DOTALL):
            assert "csrf_field()" in form, (template.name, form)
