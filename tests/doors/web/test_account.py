"""The account page: who one is, which plan counts and why, and the password."""

import re
from datetime import timedelta

import httpx2

from openslot.domains.access import operations as access
from openslot.domains.access.models import CredentialKind
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.conftest import sign_in
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

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
        assert words in read_page(answer).text
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
        studio = await add_organization(work, name="Studio & Sons", slug="studio", plan=Plan.BUSINESS)
        await add_organization_member(work, studio, user)

    assert "Business, through Studio & Sons" in read_page(await member.get("/account")).text


async def test_a_lapsed_plan_says_when_it_ended(member: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.PRO, until=work.now - timedelta(days=1))
    answer = await member.get("/account")

    assert "Free, since Pro ended on" in read_page(answer).text
    assert "API keys are available on the Pro and Business plans" in read_page(answer).notices[0]


async def test_a_new_password_ends_every_other_session(
    member: httpx2.AsyncClient, user: User, runtime: Runtime
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        other = await access.begin_session(work, user, user_agent="")
    answer = await member.post("/account/password", data={"current": PASSWORD, "password": NEW})
    shown = await member.get(answer.headers["location"])

    assert answer.status_code == 303
    assert "Your password was changed" in read_page(shown).notices[0]
    member.cookies.clear()
    assert (await member.get("/account", headers={"cookie": f"openslot_session={other}"})).status_code == 303
    assert (await sign_in(member, user.email)).status_code == 401
    assert (await sign_in(member, user.email, NEW)).status_code == 303


async def test_a_password_that_can_not_be_changed_says_why_at_its_field(member: httpx2.AsyncClient, user: User) -> None:
    for current, password, words in WRONG_PASSWORDS:
        answer = await member.post("/account/password", data={"current": current, "password": password})

        assert answer.status_code == 400, words
        assert words in read_page(answer).faults.values()
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
        studio = await add_organization(work, name="Studio", slug="studio", plan=Plan.PRO)
        await add_organization_member(work, studio, user)
        await people.remove_member(work, studio, user)

    assert (await member.get("/account")).status_code == 303


WRONG_KEYS = (
    ({"name": "", "expires": "never"}, "Give the key a name"),
    ({"name": "   ", "expires": "never"}, "Give the key a name"),
    ({"name": "x" * 101, "expires": "never"}, "Must have at most 100 characters"),
    ({"name": "two\nlines", "expires": "never"}, "Has characters that are not allowed"),
    ({"name": "\u202e\u200b", "expires": "never"}, "Must contain visible characters"),
    ({"name": "Website", "expires": "1"}, "Must be one of never, 30, 90, 365"),
    ({"name": "Website"}, "Choose one of these"),
)
KEY = re.compile(r"svc_live_[0-9A-Za-z]{38}")


async def make(member: httpx2.AsyncClient, name: str = "Website", expires: str = "never") -> httpx2.Response:
    """Send the form for a new key."""
    return await member.post("/account/keys", data={"name": name, "expires": expires})


async def test_with_no_keys_the_page_says_what_to_do_first(member: httpx2.AsyncClient) -> None:
    assert "You have no keys yet" in read_page(await member.get("/account")).text


async def test_a_new_key_is_shown_once_and_works(member: httpx2.AsyncClient) -> None:
    answer = await make(member)
    key = KEY.findall(answer.text)[0]
    later = await member.get("/account")
    me = await member.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert not KEY.search(later.text)
    assert key[-4:] in read_page(later).text
    assert me.json()["username"] == "mara"


async def test_where_a_key_was_made_leads_back_to_the_list(member: httpx2.AsyncClient) -> None:
    assert (await member.get("/account/keys")).headers["location"] == "/account#keys"


async def test_a_key_expires_when_it_was_chosen_to(member: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    for choice in ("never", "30", "90", "365"):
        await make(member, expires=choice)
    keys = await access.list_credentials(runtime.work(OPERATOR), CredentialKind.API_KEY, user.id)

    lives = [(key.expires_at - key.created_at).days if key.expires_at else None for key in keys]
    assert lives == [365, 90, 30, None]


async def test_keys_are_listed_newest_first(member: httpx2.AsyncClient) -> None:
    await make(member, "First")
    text = (await make(member, "Second")).text.partition("<table")[2]

    assert 0 < text.index("Second") < text.index("First")


async def test_a_wrong_field_is_told_at_the_field(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for sent, words in WRONG_KEYS:
        answer = await member.post("/account/keys", data=sent)

        assert answer.status_code == 400, words
        assert words in read_page(answer).text
    assert await runtime.pool.fetchval("select count(*) from api_keys") == 0


async def test_revoking_asks_first_and_closes_the_key(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    key = KEY.findall((await make(member)).text)[0]
    address = f"/account/keys/{await runtime.pool.fetchval('select id from api_keys')}/revoke"
    offered = await member.get("/account")
    asked = await member.get(address)
    still = await member.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})
    done = await member.post(address)
    closed = await member.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})

    assert (asked.status_code, still.status_code, done.status_code, closed.status_code) == (200, 200, 303, 401)
    assert "Revoke “Website”?" in read_page(asked).text
    shown = (await member.get(done.headers["location"])).text
    assert "The key was revoked" in shown
    assert "Revoked" in shown
    assert (address in offered.text, address in shown) == (True, False)
    assert (await member.get(address)).status_code == 303
    assert (await member.post(address)).status_code == 303


async def test_a_key_that_is_not_there_is_404(member: httpx2.AsyncClient) -> None:
    for key_id in ("no-id", "%00", "x" * 500, "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"):
        for method in ("GET", "POST"):
            assert (await member.request(method, f"/account/keys/{key_id}/revoke")).status_code == 404, key_id


async def test_anothers_key_is_404_and_stays_open(member: httpx2.AsyncClient, admin: User, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        _, key = await access.create_api_key(work, admin, name="Not yours")
    answer = await member.post(f"/account/keys/{key.id}/revoke")

    assert answer.status_code == 404
    assert await runtime.pool.fetchval("select revoked_at from api_keys") is None


async def test_free_accounts_make_no_keys_and_see_why(member: httpx2.AsyncClient, user: User, runtime: Runtime) -> None:
    await make(member)
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.FREE)
    shown, refused = await member.get("/account"), await make(member)

    assert "API keys are available on the Pro and Business plans" in read_page(shown).notices[0]
    assert "Not included in your plan" in read_page(shown).text
    assert 'action="/account/keys"' not in shown.text
    assert refused.status_code == 403


async def test_days_are_told_in_the_users_own_zone(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await make(member)
    await runtime.pool.execute("update users set zone = 'Pacific/Auckland'")
    await runtime.pool.execute(
        "update api_keys set created_at = '2026-03-15T20:00:00Z', expires_at = '2020-01-01T00:00:00Z'"
    )
    text = (await member.get("/account")).text

    assert "16 March 2026" in text
    assert "1 January 2020" in text
    assert "Expired" in text
    assert "2026-03" not in text
