"""API keys on the account page: made, shown once, listed in words, revoked after a second question."""

import re

import httpx2

from openslot.access import operations as access
from openslot.access.keys import CredentialKind
from openslot.accounts import operations as accounts
from openslot.accounts.models import User
from openslot.accounts.plans import Plan
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime

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
    assert "You have no keys yet" in (await member.get("/account")).text


async def test_a_new_key_is_shown_once_and_works(member: httpx2.AsyncClient) -> None:
    answer = await make(member)
    key = KEY.findall(answer.text)[0]
    later = await member.get("/account")
    me = await member.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert not KEY.search(later.text)
    assert key[-4:] in later.text
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
        assert words in answer.text
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
    assert "Revoke “<bdi>Website</bdi>”?" in asked.text
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
        await accounts.change_plan(work, user, Plan.FREE)
    shown, refused = await member.get("/account"), await make(member)

    assert "API keys are available on the Pro and Business plans" in shown.text
    assert "Paused by your plan" in shown.text
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
