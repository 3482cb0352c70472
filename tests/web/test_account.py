"""The account page: who one is, which plan counts and why, and the password."""

from datetime import timedelta

import httpx2

from openslot.access import operations as access
from openslot.accounts import operations as accounts
from openslot.accounts.models import User, UserWanted
from openslot.accounts.plans import Plan
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from openslot.people import operations as people
from tests.conftest import PASSWORD
from tests.web.conftest import sign_in

NEW = "a fresh long password"
WRONG_PASSWORDS = (
    ("wrong", NEW, "Is not your current password"),
    (PASSWORD, "short", "Must have at least 10 characters"),
    (PASSWORD, "x" * 201, "Must have at most 200 characters"),
    (PASSWORD, "long enough\x00but odd", "Has characters that are not allowed"),
    ("", NEW, "Enter your current password"),
    (PASSWORD, "", "Enter a new password"),
)


async def test_without_a_session_the_sign_in_comes_first(client: httpx2.AsyncClient) -> None:
    shown = await client.get("/account")
    sent = await client.post("/account/password", data={"current": "a", "password": "b"})

    assert (shown.status_code, shown.headers["location"]) == (303, "/login?next=/account")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/")


async def test_the_page_says_who_one_is_and_is_kept_nowhere(member: httpx2.AsyncClient) -> None:
    answer = await member.get("/account")

    for words in ("Mara Lindqvist", "mara@lindqvist.example", "mara", "Pro", "UTC"):
        assert words in answer.text
    assert answer.headers["cache-control"] == "no-store"


async def test_names_are_shown_as_text(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="x@lindqvist.example", name="<img src=x onerror=alert(1)>", plan=Plan.PRO)
        user = await accounts.add_user(work, wanted)
        token = await access.begin_session(work, user, user_agent="")
        await access.create_api_key(work, user, name='"><script>alert(1)</script>')
    answer = await client.get("/account", headers={"cookie": f"openslot_session={token}"})

    assert "<img src=x" not in answer.text
    assert "<script>alert" not in answer.text
    assert "&lt;img src=x" in answer.text


async def test_a_cookie_is_found_beside_strange_neighbours(member: httpx2.AsyncClient) -> None:
    token = member.cookies["openslot_session"]
    member.cookies.clear()
    cookie = f'a={{"b": [1, "2"]}}; =; ;@@; openslot_session={token}; z'

    assert (await member.get("/account", headers={"cookie": cookie})).status_code == 200


async def test_an_organizations_plan_is_named_with_it(member: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        studio = await accounts.add_organization(work, name="Studio & Sons", slug="studio", plan=Plan.BUSINESS)
        await accounts.add_member(work, studio, user)

    assert "Business, through Studio &amp; Sons" in (await member.get("/account")).text


async def test_a_lapsed_plan_says_when_it_ended(member: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_plan(work, user, Plan.PRO, until=work.now - timedelta(days=1))
    answer = await member.get("/account")

    assert "Free, since Pro ended on" in answer.text
    assert "API keys are available on the Pro and Business plans" in answer.text


async def test_a_new_password_ends_every_other_session(
    member: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        other = await access.begin_session(work, user, user_agent="")
    answer = await member.post("/account/password", data={"current": PASSWORD, "password": NEW})
    shown = await member.get(answer.headers["location"])

    assert answer.status_code == 303
    assert "Your password was changed" in shown.text
    member.cookies.clear()
    assert (await member.get("/account", headers={"cookie": f"openslot_session={other}"})).status_code == 303
    assert (await sign_in(member, user.email)).status_code == 401
    assert (await sign_in(member, user.email, NEW)).status_code == 303


async def test_a_password_that_can_not_be_changed_says_why_at_its_field(member: httpx2.AsyncClient, user: User) -> None:
    for current, password, words in WRONG_PASSWORDS:
        answer = await member.post("/account/password", data={"current": current, "password": password})

        assert answer.status_code == 400, words
        assert words in answer.text
        assert 'aria-invalid="true"' in answer.text
    member.cookies.clear()
    assert (await sign_in(member, user.email)).status_code == 303


async def test_guessing_the_present_password_is_limited_as_signing_in_is(member: httpx2.AsyncClient) -> None:
    wrong = {"current": "wrong", "password": NEW}
    codes = [(await member.post("/account/password", data=wrong)).status_code for _ in range(6)]

    assert codes == [400] * 5 + [429]


async def test_leaving_an_organization_ends_the_session(
    member: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        studio = await accounts.add_organization(work, name="Studio", slug="studio", plan=Plan.PRO)
        await accounts.add_member(work, studio, user)
        await people.remove_member(work, studio, user)

    assert (await member.get("/account")).status_code == 303
