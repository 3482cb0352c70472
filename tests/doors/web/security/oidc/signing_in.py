"""Signing in through the provider, step by step."""

from urllib.parse import urlsplit

import httpx2

from tests.support.oidc_provider import FakeProvider

START, BACK, SECURITY = "/login/oidc", "/login/oidc/callback", "/settings/security"
MARA = "mara@lindqvist.example"


def callback_of(provider: FakeProvider, begun: httpx2.Response) -> str:
    """Sign in at the provider and return where it sends the browser."""
    assert begun.status_code == 303
    url = urlsplit(provider.authorize(begun.headers["location"]))
    return f"{url.path}?{url.query}"


async def sign_in(client: httpx2.AsyncClient, provider: FakeProvider, wanted: str = "/") -> httpx2.Response:
    begun = await client.get(START, params={"next": wanted})
    return await client.get(callback_of(provider, begun))


async def is_in(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/account")).status_code == 200
