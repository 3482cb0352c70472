"""Forms that another site sends in a visitor's name are refused."""

import httpx2
import pytest

from openslot.accounts.models import User
from tests.conftest import PASSWORD

POSTS = ("/login", "/logout", "/account/keys", "/account/password", "/setup")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_form_of_another_site_is_refused(
    client: httpx2.AsyncClient, path: str, headers: dict[str, str]
) -> None:
    answer = await client.post(path, data={"a": "b"}, headers=headers)

    assert answer.status_code == 403
    assert "sent from another site" in answer.text


@pytest.mark.parametrize("fetch_site", ["same-origin", "none", None])
async def test_our_own_form_and_a_plain_client_pass(
    client: httpx2.AsyncClient, user: User, fetch_site: str | None
) -> None:
    own = {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": fetch_site} if fetch_site else {}
    answer = await client.post("/login", data={"email": user.email, "password": PASSWORD}, headers=own)

    assert answer.status_code == 303


async def test_another_site_may_link_to_us(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/login", headers={"sec-fetch-site": "cross-site", "origin": "https://evil.example"})

    assert answer.status_code == 200


async def test_a_foreign_form_changes_nothing(member: httpx2.AsyncClient) -> None:
    await member.post("/logout", headers={"origin": "https://evil.example"})

    assert (await member.get("/account")).status_code == 200
