"""Sign-in through an identity provider: who comes in, who does not, and what a hostile provider achieves."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from joserfc.jwk import ECKey, RSAKey
from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.app import create_app
from openslot.core.actor import OPERATOR, SYSTEM
from openslot.core.config import Networks, Settings
from openslot.core.work import Runtime
from openslot.integrations.oidc import provider as wire
from openslot.integrations.oidc.jobs import tidy_oidc
from openslot.people import operations as people
from tests.access.two_factor_scene import CHEAP, add_host, turn_on
from tests.bookings.conftest import MovingClock
from tests.conftest import PASSWORD
from tests.integrations.mail.conftest import messages, part
from tests.integrations.oidc.fake_provider import CLIENT_ID, CLIENT_SECRET, FakeProvider, providing
from tests.live import connect, serving
from tests.web.dashboard.conftest import open_session
from tests.webhooks.conftest import work_off

START, BACK, SECURITY = "/login/oidc", "/login/oidc/callback", "/settings/security"
MARA = "mara@lindqvist.example"


@pytest.fixture
async def provider(clock: MovingClock) -> AsyncIterator[FakeProvider]:
    """Run an honest provider."""
    async with providing(clock) as running:
        yield running


@pytest.fixture
def settings(settings: Settings, provider: FakeProvider) -> Settings:
    """Give the settings of an operator who uses the provider."""
    return replace(
        settings,
        outbound_allow=Networks((ip_network("127.0.0.0/8"),)),
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret=CLIENT_SECRET,
        oidc_name="Keycloak",
    )


@pytest.fixture
async def mara(runtime: Runtime) -> User:
    """Add the account of the person at the provider."""
    return await add_host(runtime, "mara")


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


async def test_the_sign_in_page_leads_to_the_provider_and_back(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    page = await client.get("/login", params={"next": "/bookings"})
    assert "Continue with Keycloak" in page.text
    assert f'href="{START}?next=/bookings"' in page.text
    done = await sign_in(client, provider, "/bookings")

    assert (done.status_code, done.headers["location"]) == (303, "/bookings")
    assert mara.name in (await client.get("/account")).text


async def test_without_a_provider_there_is_no_button_and_no_page(settings: Settings, clock: MovingClock) -> None:
    none = replace(settings, oidc_issuer=None, oidc_client_id=None, oidc_client_secret=None)
    async with serving(create_app(none, clock=clock)) as url, connect(url) as client:
        assert "Continue with" not in (await client.get("/login")).text
        assert (await client.get(START)).status_code == 404
        assert (await client.get(BACK, params={"code": "x", "state": "y"})).status_code == 404


async def test_the_provider_gets_fresh_secrets_each_time_and_the_browser_a_short_lived_cookie(
    client: httpx2.AsyncClient,
) -> None:
    answers = [await client.get(START) for _ in range(2)]
    first, second = (parse_qs(urlsplit(answer.headers["location"]).query) for answer in answers)

    for name in ("state", "nonce", "code_challenge"):
        assert first[name] != second[name]
        assert len(first[name][0]) >= 43
    (cookie,) = answers[0].headers.get_list("set-cookie")
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert parts == {"httponly", "samesite=lax", "path=/", "max-age=600"}
    assert first["state"][0] not in cookie
    assert first["nonce"][0] not in cookie


async def test_a_person_is_found_by_the_subject_even_if_the_address_changes(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    await sign_in(client, provider)
    client.cookies.clear()
    provider.person |= {"email": "new@lindqvist.example", "email_verified": False}

    assert (await sign_in(client, provider)).status_code == 303
    assert mara.name in (await client.get("/account")).text


@pytest.mark.parametrize("told", [False, None, "true", 1, "false"])
async def test_an_address_that_is_not_verified_finds_no_account(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User, told: object
) -> None:
    provider.person["email_verified"] = told
    answer = await sign_in(client, provider)

    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_email_unverified")
    assert not await is_in(client)
    assert mara.email not in answer.text


async def test_an_account_is_not_handed_over_to_another_subject(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User, runtime: Runtime
) -> None:
    await sign_in(client, provider)
    client.cookies.clear()
    provider.person["sub"] = "somebody-with-the-old-address"
    answer = await sign_in(client, provider)

    assert (answer.status_code, answer.headers["x-error-code"]) == (409, "identity_taken")
    assert not await is_in(client)
    assert await runtime.pool.fetchval("select count(*) from identities where user_id = $1", mara.id) == 1


async def test_a_person_without_an_account_is_told_whom_to_ask(
    client: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime
) -> None:
    answer = await sign_in(client, provider)

    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_no_account")
    assert "Ask your administrator to create an account" in answer.text
    assert await runtime.pool.fetchval("select count(*) from users") == 0


async def test_an_account_is_created_if_the_operator_wants_that(
    settings: Settings, provider: FakeProvider, clock: MovingClock, runtime: Runtime
) -> None:
    provider.person |= {"zoneinfo": "Europe/Berlin", "locale": "de-DE", "name": "<b>Mara</b>"}
    creating = replace(settings, oidc_creates_accounts=True)
    async with serving(create_app(creating, clock=clock)) as url, connect(url, timeout=60) as client:
        assert (await sign_in(client, provider)).headers["location"] == "/"
        shown = await client.get("/account")
        client.cookies.clear()
        provider.person |= {"sub": "person-2", "email": "ana@lindqvist.example", "email_verified": False}
        refused = await sign_in(client, provider)

    row = await runtime.pool.fetchrow("select email, zone, locale, password_hash, username from users")
    assert row is not None
    assert dict(row) == {
        "email": MARA,
        "zone": "Europe/Berlin",
        "locale": "de",
        "password_hash": None,
        "username": "b-mara-b",
    }
    assert "<b>Mara" not in shown.text
    assert refused.status_code == 403
    assert await runtime.pool.fetchval("select count(*) from event_types") == 1


async def test_a_disabled_account_stays_closed(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User, runtime: Runtime
) -> None:
    for is_known in (False, True):
        if is_known:
            await runtime.pool.execute("update users set disabled_at = null")
            await sign_in(client, provider)
            client.cookies.clear()
        async with runtime.transaction(OPERATOR) as work:
            await people.disable_user(work, mara)
        answer = await sign_in(client, provider)

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_account_closed")
        assert not await is_in(client)


async def test_the_second_factor_is_asked_unless_the_provider_is_trusted(
    settings: Settings, client: httpx2.AsyncClient, provider: FakeProvider, mara: User, runtime: Runtime
) -> None:
    phone = await turn_on(runtime, mara)
    asked = await sign_in(client, provider, "/bookings")

    assert asked.headers["location"] == "/login/two-factor?next=/bookings"
    assert not await is_in(client)
    done = await client.post("/login/two-factor", data={"code": phone.code(runtime), "next": "/bookings"})
    assert done.headers["location"] == "/bookings"
    assert await is_in(client)
    trusting = replace(settings, oidc_skips_two_factor=True)
    async with serving(create_app(trusting, clock=runtime.clock)) as url, connect(url, timeout=60) as other:
        assert (await sign_in(other, provider, "/bookings")).headers["location"] == "/bookings"
        assert await is_in(other)


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
}


@pytest.mark.parametrize("told", LIES)
async def test_a_token_with_a_wrong_claim_opens_nothing(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User, told: str
) -> None:
    provider.change_claims = LIES[told]
    answer = await sign_in(client, provider)

    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_mismatch")
    assert not await is_in(client)
    assert mara.email not in answer.text


async def test_several_audiences_are_accepted_if_the_token_was_made_for_us(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    provider.change_claims = lie(aud=[CLIENT_ID, "another"], azp=CLIENT_ID)

    assert (await sign_in(client, provider)).headers["location"] == "/"
    assert mara.name in (await client.get("/account")).text


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

    hostile = (
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

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_mismatch"), sign
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
        assert (await sign_in(client, provider)).headers["x-error-code"] == "oidc_mismatch"

    assert provider.asked.count("keys") == 1


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

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_mismatch"), (state, kept)
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

    assert answer.headers["x-error-code"] == "oidc_mismatch"
    assert not await is_in(client)
    assert mara.email not in answer.text


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

    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_mismatch")
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

    assert (await client.get(back)).headers["x-error-code"] == "oidc_mismatch"


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
@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("endpoint", ["openid-configuration", "token", "keys"])
async def test_a_provider_that_does_not_answer_as_it_should_is_told_as_unreachable(
    settings: Settings,
    clock: MovingClock,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    endpoint: str,
    fault: str,
) -> None:
    patience = timedelta(seconds=0.5 if BROKEN[fault] is None else 10)
    monkeypatch.setattr(wire, "LIMITS", replace(wire.LIMITS, within=patience))
    provider.answers[endpoint] = BROKEN[fault]
    async with serving(create_app(settings, clock=clock)) as url, connect(url, timeout=60) as client:
        begun = await client.get(START)
        answer = begun if endpoint == "openid-configuration" else await client.get(callback_of(provider, begun))

        assert (answer.status_code, answer.headers["x-error-code"]) == (503, "oidc_unreachable")
        assert "can't be reached" in answer.text.replace("&#39;", "'")
        assert not await is_in(client)
    assert "1/" not in provider.asked


async def test_a_provider_that_has_just_failed_is_not_waited_for_again(
    client: httpx2.AsyncClient, provider: FakeProvider
) -> None:
    provider.answers["openid-configuration"] = BROKEN["an error"]
    codes = [(await client.get(START)).status_code for _ in range(3)]

    assert codes == [503] * 3
    assert provider.asked == ["openid-configuration"]


@pytest.mark.parametrize(
    "told",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "https://evil.example/\r\nSet-Cookie: a=b"},
        {"token_endpoint": "http://10.0.0.1/token\x00"},
    ],
)
async def test_what_the_provider_says_about_itself_is_checked(
    client: httpx2.AsyncClient, provider: FakeProvider, told: dict[str, str]
) -> None:
    provider.metadata = told
    answer = await client.get(START)

    assert (answer.status_code, answer.headers["x-error-code"]) == (503, "oidc_unreachable")


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
    assert mara.name in (await client.get("/account")).text


async def test_too_many_sign_ins_from_one_address_have_to_wait(client: httpx2.AsyncClient) -> None:
    codes = [(await client.get(START)).status_code for _ in range(31)]

    assert codes == [303] * 30 + [429]


async def test_who_is_signed_in_already_is_led_on(client: httpx2.AsyncClient, runtime: Runtime, host: User) -> None:
    client.headers.update(await open_session(runtime, host))

    assert (await client.get(START, params={"next": "/bookings"})).headers["location"] == "/bookings"


async def connecting(member: httpx2.AsyncClient, provider: FakeProvider) -> str:
    """Begin to connect with the password, follow the link, and return where the provider sends the browser."""
    page = await member.post(f"{SECURITY}/provider", data={"password": PASSWORD})
    assert page.status_code == 200
    link = page.text.partition(f'href="{provider.issuer}/authorize?')[2].partition('"')[0].replace("&amp;", "&")
    url = urlsplit(provider.authorize(f"{provider.issuer}/authorize?{link}"))
    return f"{url.path}?{url.query}"


async def come_back(member: httpx2.AsyncClient, back: str) -> httpx2.Response:
    """Come back from the provider with the session and the cookie of the sign-in."""
    cookie = f"{member.headers['cookie']}; openslot_oidc={member.cookies['openslot_oidc']}"
    return await member.get(back, headers={"cookie": cookie})


async def test_an_account_is_connected_with_the_password_whatever_the_address(
    member: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, clock: MovingClock, host: User
) -> None:
    provider.person = {"sub": "somebody", "email": "other@elsewhere.example"}
    assert "Not connected" in (await member.get(SECURITY)).text
    wrong = await member.post(f"{SECURITY}/provider", data={"password": "wrong"})
    assert wrong.status_code == 400
    assert "Is not your current password" in wrong.text
    done = await come_back(member, await connecting(member, provider))

    assert done.headers["location"] == f"{SECURITY}?done=connected"
    assert "Your account is connected" in (await member.get(done.headers["location"])).text
    await work_off(runtime, clock)
    (mail,) = await messages(runtime, host.email)
    assert mail["Subject"] == "A new way to sign in to your account"
    assert provider.issuer in part(mail, "text/plain")
    async with connect(str(member.base_url), timeout=60) as other:
        assert (await sign_in(other, provider)).headers["location"] == "/"
        assert host.email in (await other.get("/account")).text


async def test_with_a_second_factor_a_code_is_needed_to_connect(
    member: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, host: User
) -> None:
    phone = await turn_on(runtime, host)
    assert 'name="code"' in (await member.get(SECURITY)).text
    for code, words in (("", "Enter a code"), ("000000", "Is wrong, has expired or was already used")):
        refused = await member.post(f"{SECURITY}/provider", data={"password": PASSWORD, "code": code})

        assert refused.status_code == 400
        assert 'id="fault-code"' in refused.text
        assert words in refused.text
        assert provider.issuer not in refused.text
        assert "openslot_oidc" not in str(refused.headers.get_list("set-cookie"))

    begun = await member.post(f"{SECURITY}/provider", data={"password": PASSWORD, "code": phone.code(runtime)})
    assert begun.status_code == 200
    assert provider.issuer in begun.text


async def test_only_the_user_who_began_can_connect(
    member: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, mara: User
) -> None:
    for session in ({"cookie": ""}, await open_session(runtime, mara)):
        back = await connecting(member, provider)
        cookie = f"{session['cookie']}; openslot_oidc={member.cookies['openslot_oidc']}"
        async with connect(str(member.base_url), timeout=60) as other:
            answer = await other.get(back, headers={"cookie": cookie})

        assert answer.headers["x-error-code"] == "oidc_mismatch"
        assert "openslot_session" not in str(answer.headers.get_list("set-cookie"))
    assert await runtime.pool.fetchval("select count(*) from identities") == 0


async def test_a_person_of_the_provider_has_one_account(
    member: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, mara: User
) -> None:
    async with connect(str(member.base_url), timeout=60) as other:
        await sign_in(other, provider)
    answer = await come_back(member, await connecting(member, provider))

    assert (answer.status_code, answer.headers["x-error-code"]) == (409, "identity_taken")
    assert await runtime.pool.fetchval("select user_id from identities") == mara.id


async def test_an_account_with_a_password_can_be_disconnected(
    member: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, host: User
) -> None:
    await come_back(member, await connecting(member, provider))
    assert await runtime.pool.fetchval("select count(*) from identities") == 1
    path = f"{SECURITY}/provider/disconnect"
    assert (await member.get(path)).status_code == 200
    await runtime.pool.execute("update users set password_hash = null where id = $1", host.id)
    refused = await member.post(path)
    await runtime.pool.execute("update users set password_hash = $2 where id = $1", host.id, CHEAP.hash(PASSWORD))
    done = await member.post(path)

    assert refused.status_code == 409
    assert "your only way to sign in" in refused.text
    assert done.headers["location"] == f"{SECURITY}?done=disconnected"
    assert "no longer connected" in (await member.get(done.headers["location"])).text
    assert await runtime.pool.fetchval("select count(*) from identities") == 0


def test_the_fake_speaks_the_documented_format() -> None:
    """The fields that OpenID Connect Discovery requires and that are used here are in what it says about itself."""
    described = json.loads(json.dumps(FakeProvider(lambda: None)._describe()))  # type: ignore[arg-type, return-value]

    assert {"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "response_types_supported"} <= set(
        described
    )
