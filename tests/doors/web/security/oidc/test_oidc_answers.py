"""Answers that nobody asked for, and providers that fail."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.oidc import provider as wire
from openslot.domains.oidc.operations import tidy_oidc
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.security.oidc.signing_in import BACK, MARA, START, callback_of, is_in, sign_in
from tests.support.clocks import MovingClock
from tests.support.host import open_session
from tests.support.live import connect, serving
from tests.support.oidc_provider import FakeProvider
from tests.support.page import read_page

HUGE = (200, {"Content-Type": "application/json"}, b'{"keys": [' + b" " * 400_000 + b"]}")
BROKEN: dict[str, tuple[int, dict[str, str], bytes] | None] = {
    "huge": HUGE,
    "elsewhere": (302, {"Location": "http://127.0.0.1:1/"}, b""),
    "broken": (200, {"Content-Type": "application/json"}, b'{"issuer": '),
    "a list": (200, {"Content-Type": "application/json"}, b"[]"),
    "an error": (500, {}, b"<html>"),
    "not found": (404, {}, b"<html>"),
    "packed": (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"),
    "nothing": None,
}


@pytest.mark.usefixtures("mara")
async def test_an_answer_that_this_browser_has_not_asked_for_opens_nothing(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    begun = await client.get(START)
    back = urlsplit(callback_of(provider, begun))
    query = {name: values[0] for name, values in parse_qs(back.query).items()}
    cookie = client.cookies["openslot_oidc"]
    for state, kept in (
        (query["state"], ""),
        ("", cookie),
        ("another", cookie),
        ("é", cookie),
        (query["state"], "AAAA"),
        (query["state"], "é"),
        (query["state"], cookie[:-4] + "AAAA"),
    ):
        client.cookies.clear()
        headers = {b"cookie": f"openslot_oidc={kept}".encode()}
        answer = await client.get(BACK, params={**query, "state": state}, headers=headers)

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "invalid_oidc_response"), (state, kept)
        assert not await is_in(client)
    assert "token" not in provider.asked


async def test_the_sign_in_of_one_browser_can_not_be_finished_in_another(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    """Nobody can be signed in as somebody else by a link."""
    attackers = callback_of(provider, await client.get(START))
    client.cookies.clear()
    await client.get(START)
    answer = await client.get(attackers)

    assert answer.headers["x-error-code"] == "invalid_oidc_response"
    assert not await is_in(client)
    assert mara.email not in answer.text


@pytest.mark.usefixtures("mara")
async def test_of_two_tabs_the_later_one_can_be_finished_whatever_comes_back_in_the_other(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    earlier = callback_of(provider, await client.get(START))
    later = callback_of(provider, await client.get(START))
    for foreign in (earlier, f"{BACK}?code=x&state=of-another-site"):
        assert (await client.get(foreign)).headers["x-error-code"] == "invalid_oidc_response"
        assert not await is_in(client)

    assert (await client.get(later)).status_code == 303
    assert await is_in(client)


@pytest.mark.usefixtures("mara")
async def test_an_answer_is_accepted_once(
    client: httpx2.AsyncClient, provider: FakeProvider, clock: MovingClock, runtime: Runtime
) -> None:
    begun = await client.get(START)
    cookie, query = client.cookies["openslot_oidc"], parse_qs(urlsplit(begun.headers["location"]).query)
    done = await client.get(callback_of(provider, begun))
    assert 'openslot_oidc=""; HttpOnly; Max-Age=0' in str(done.headers.get_list("set-cookie"))
    # Even with the cookie kept, and a provider that gives a second code for the same request.
    client.cookies.clear()
    again = callback_of(provider, begun)
    assert query["state"][0] in again
    answer = await client.get(again, headers={"cookie": f"openslot_oidc={cookie}"})

    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "invalid_oidc_response")
    assert not await is_in(client)
    clock.pass_time(minutes=10)
    await tidy_oidc(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from finished_oidc_sign_ins") == 0


@pytest.mark.usefixtures("mara")
async def test_a_sign_in_that_took_too_long_begins_again(
    client: httpx2.AsyncClient, provider: FakeProvider, clock: MovingClock
) -> None:
    back = callback_of(provider, await client.get(START))
    clock.now += timedelta(minutes=10)

    assert (await client.get(back)).headers["x-error-code"] == "invalid_oidc_response"


@pytest.mark.usefixtures("mara")
async def test_an_error_of_the_provider_is_told_without_its_words(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    back = callback_of(provider, await client.get(START))
    state = parse_qs(urlsplit(back).query)["state"][0]
    said = {"error": "access_denied", "error_description": "<script>alert(1)</script>", "state": state}
    answer = await client.get(BACK, params=said)

    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_declined")
    assert "alert(1)" not in answer.text
    assert "access_denied" not in answer.text


@pytest.mark.rest("waits for seconds")
@pytest.mark.usefixtures("mara")
@pytest.mark.parametrize("endpoint", ["openid-configuration", "token", "keys"])
async def test_a_provider_that_does_not_answer_as_it_should_is_told_as_unreachable(
    settings: Settings, clock: MovingClock, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    patient, hasty = (replace(wire.LIMITS, within=timedelta(seconds=seconds)) for seconds in (60, 0.5))

    def sign_in_time(claims: dict[str, Any]) -> str:
        # The token is the last answer before the keys are asked for.
        make_hasty(asked="keys")
        return provider.sign_with_key(claims)

    def make_hasty(*, asked: str) -> None:
        # Only for what is never answered: all else may take long on a busy machine.
        if asked == endpoint and provider.answers[endpoint] is None:
            monkeypatch.setattr(wire, "LIMITS", hasty)

    provider.sign = sign_in_time
    for fault, broken in BROKEN.items():
        monkeypatch.setattr(wire, "LIMITS", patient)
        provider.answers[endpoint] = broken
        async with serving(create_app(settings, clock=clock)) as url, connect(url, timeout=60) as client:
            make_hasty(asked="openid-configuration")
            begun = await client.get(START)
            make_hasty(asked="token")
            answer = begun if endpoint == "openid-configuration" else await client.get(callback_of(provider, begun))

            assert (answer.status_code, answer.headers["x-error-code"]) == (503, "oidc_unreachable"), fault
            assert "can't be reached" in answer.text.replace("&#39;", "'"), fault
            assert not await is_in(client), fault
        assert "1/" not in provider.asked, fault


async def test_a_provider_that_has_just_failed_is_not_waited_for_again(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    provider.answers["openid-configuration"] = BROKEN["an error"]
    codes = [(await client.get(START)).status_code for _ in range(3)]

    assert codes == [503] * 3
    assert provider.asked == ["openid-configuration"]


WRONG_METADATA: list[dict[str, str]] = [
    {"issuer": "https://evil.example"},
    {"authorization_endpoint": "https://evil.example/\r\nSet-Cookie: a=b"},
    {"token_endpoint": "http://10.0.0.1/token\x00"},
]


async def test_what_the_provider_says_about_itself_is_checked(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    for told in WRONG_METADATA:
        provider.metadata = told
        answer = await client.get(START)

        assert (answer.status_code, answer.headers["x-error-code"]) == (503, "oidc_unreachable"), told


@pytest.mark.usefixtures("mara")
async def test_endpoints_in_networks_that_are_not_allowed_are_not_asked(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    provider.metadata = {"token_endpoint": "http://10.255.255.1/token"}
    back = callback_of(provider, await client.get(START))

    assert (await client.get(back)).headers["x-error-code"] == "oidc_unreachable"


@pytest.mark.usefixtures("mara")
async def test_a_wrong_secret_of_ours_is_told_as_unreachable(
    settings: Settings, clock: MovingClock, provider: FakeProvider
) -> None:
    wrong = replace(settings, oidc_client_secret="wrong")
    async with serving(create_app(wrong, clock=clock)) as url, connect(url, timeout=60) as client:
        assert (await sign_in(client, provider)).headers["x-error-code"] == "oidc_unreachable"


@pytest.mark.usefixtures("mara")
async def test_a_provider_may_want_the_secret_in_the_body(client: httpx2.AsyncClient, provider: FakeProvider) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}

    assert (await sign_in(client, provider)).headers["location"] == "/"


async def test_claims_that_the_token_lacks_come_from_the_userinfo_of_the_same_person(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    provider.person = {"sub": "person-1", "email_verified": True}
    for told, code in (
        ({"sub": "somebody else", "email": MARA, "email_verified": True}, "oidc_email_unverified"),
        ({"sub": "person-1", "email": MARA, "email_verified": False}, "oidc_email_unverified"),
        ({"sub": "person-1", "email": MARA}, "oidc_email_unverified"),
        ({"sub": "person-1", "email": MARA, "email_verified": True}, None),
    ):
        provider.userinfo = told
        answer = await sign_in(client, provider)
        assert answer.headers.get("x-error-code") == code, told
    assert mara.name in read_page(await client.get("/account")).text


async def test_too_many_sign_ins_from_one_address_have_to_wait(client: httpx2.AsyncClient) -> None:
    codes = [(await client.get(START)).status_code for _ in range(31)]

    assert codes == [303] * 30 + [429]


async def test_who_is_signed_in_already_is_led_on(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    client.headers.update(await open_session(runtime, host))

    assert (await client.get(START, params={"next": "/bookings"})).headers["location"] == "/bookings"
