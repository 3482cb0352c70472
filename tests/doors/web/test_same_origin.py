"""Forms that another site sends in a visitor's name are refused."""

from itertools import product

import httpx2

from openslot.domains.accounts.models import User
from tests.support.forms import FOREIGN
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

POSTS = ("/login", "/logout", "/account/keys", "/account/password", "/setup")


async def test_a_form_of_another_site_is_refused(client: httpx2.AsyncClient) -> None:
    for path, headers in product(POSTS, FOREIGN):
        answer = await client.post(path, data={"a": "b"}, headers=headers)

        assert answer.status_code == 403, (path, headers)
        assert "sent from another site" in read_page(answer).text


async def test_our_own_form_and_a_plain_client_pass(client: httpx2.AsyncClient, user: User) -> None:
    own = str(client.base_url).rstrip("/")
    for headers in ({"origin": own, "sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {}):
        answer = await client.post("/login", data={"email": user.email, "password": PASSWORD}, headers=headers)
        client.cookies.clear()

        assert answer.status_code == 303, headers


async def test_behind_a_proxy_with_another_name_the_public_address_is_ours(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/login", headers={"host": "inside", "origin": "http://127.0.0.1:8000"})

    assert answer.status_code == 400


async def test_another_site_may_link_to_us(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/login", headers={"sec-fetch-site": "cross-site", "origin": "https://evil.example"})

    assert answer.status_code == 200


async def test_a_foreign_form_changes_nothing(member: httpx2.AsyncClient) -> None:
    await member.post("/logout", headers={"origin": "https://evil.example"})

    assert (await member.get("/account")).status_code == 200
