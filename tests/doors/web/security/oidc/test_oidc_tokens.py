"""Tokens of a hostile provider, or of somebody else, open nothing."""

import base64
import json
from typing import Any

import httpx2
import pytest
from joserfc.jwk import ECKey, RSAKey

from openslot.domains.accounts.models import User
from openslot.domains.oidc import provider as wire
from openslot.platform.core.work import Runtime
from tests.doors.web.security.oidc.signing_in import is_in, sign_in
from tests.support.oidc_provider import CLIENT_ID, FakeProvider
from tests.support.page import read_page


def lie(**claims: Any) -> Any:
    return lambda honest: {**honest, **claims}


def without(name: str) -> Any:
    return lambda honest: {key: value for key, value in honest.items() if key != name}


LIES = {
    "wrong nonce": lie(nonce="another"),
    "nonce of another kind": lie(nonce=["another"]),
    "no nonce": without("nonce"),
    "wrong audience": lie(aud="another-client"),
    "wrong audiences": lie(aud=["another-client", "a-third"]),
    "several audiences without a party": lie(aud=[CLIENT_ID, "another-client"]),
    "another party": lie(aud=[CLIENT_ID, "another-client"], azp="another-client"),
    "no audience": without("aud"),
    "wrong issuer": lie(iss="https://evil.example"),
    "no issuer": without("iss"),
    "expired": lambda honest: {**honest, "exp": honest["iat"] - 61},
    "no expiry": without("exp"),
    "expiry of another kind": lie(exp="tomorrow"),
    "from the future": lambda honest: {**honest, "iat": honest["iat"] + 3600},
    "not yet valid": lambda honest: {**honest, "nbf": honest["iat"] + 3600},
    "no subject": without("sub"),
    "empty subject": lie(sub=""),
    "subject of another kind": lie(sub=7),
    "long subject": lie(sub="s" * 256),
    "subject that can't be stored": lie(sub="mara\0"),
    "subject on two lines": lie(sub="mara\nmara"),
}


async def test_a_token_with_a_wrong_claim_opens_nothing(
    client: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, mara: User
) -> None:
    for told, change in LIES.items():
        # So many attempts would be refused, whatever they contain.
        await runtime.pool.execute("delete from rate_log")
        provider.change_claims = change
        answer = await sign_in(client, provider)

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "invalid_oidc_response"), told
        assert not await is_in(client), told
        assert mara.email not in answer.text, told


async def test_several_audiences_are_accepted_if_the_token_was_made_for_us(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    provider.change_claims = lie(aud=[CLIENT_ID, "another"], azp=CLIENT_ID)

    assert (await sign_in(client, provider)).headers["location"] == "/"
    assert mara.name in read_page(await client.get("/account")).text


@pytest.mark.usefixtures("mara")
async def test_a_token_that_the_provider_has_not_signed_opens_nothing(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "first"}, auto_kid=False)
    honest_keys = list(provider.keys)

    def sign_with_stranger(claims: dict[str, Any]) -> str:
        provider.keys = [stranger]
        try:
            return provider.sign_with_key(claims)
        finally:
            provider.keys = honest_keys

    def tamper(claims: dict[str, Any]) -> str:
        head, _, signature = provider.sign_with_key(claims).split(".")
        return f"{head}.{provider.sign_with_nothing({**claims, 'sub': 'x'}).split('.')[1]}.{signature}"

    def sign_with_unreadable_demands(claims: dict[str, Any]) -> str:
        def pack(part: dict[str, Any]) -> str:
            return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")

        return f"{pack({'alg': 'RS256', 'kid': 'first', 'crit': 1})}.{pack(claims)}.AAAA"

    hostile = (
        sign_with_unreadable_demands,
        provider.sign_with_nothing,
        provider.sign_with_public_key,
        sign_with_stranger,
        tamper,
        lambda _: "not a token",
        lambda _: "a.b.c",
        lambda _: "x" * 100_000,
        lambda _: None,
    )
    for sign in hostile:
        provider.sign = sign  # type: ignore[assignment]
        answer = await sign_in(client, provider)

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "invalid_oidc_response"), sign
        assert not await is_in(client)


@pytest.mark.usefixtures("mara")
async def test_a_new_key_of_the_provider_is_read_and_another_kind_of_key_is_fine(
    client: httpx2.AsyncClient, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sign_in(client, provider)
    client.cookies.clear()
    monkeypatch.setattr(wire, "READ_AGAIN_SECONDS", 0.0)
    provider.keys = [*provider.keys, ECKey.generate_key("P-256", {"kid": "second"}, auto_kid=False)]

    assert (await sign_in(client, provider)).headers["location"] == "/"


@pytest.mark.usefixtures("mara")
async def test_an_unknown_key_does_not_make_us_ask_again_and_again(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    honest = [key.as_dict(private=False) for key in provider.keys]
    await sign_in(client, provider)
    client.cookies.clear()
    provider.published = honest
    provider.keys = [RSAKey.generate_key(2048, {"kid": "unknown"}, auto_kid=False)]
    for _ in range(3):
        assert (await sign_in(client, provider)).headers["x-error-code"] == "invalid_oidc_response"

    assert provider.asked.count("keys") == 1
