"""Connecting an account with a person of the provider, and disconnecting it."""

import json
from urllib.parse import urlsplit

import httpx2

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages, part
from tests.doors.web.security.oidc.signing_in import sign_in
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import open_session
from tests.support.live import connect
from tests.support.oidc_provider import FakeProvider
from tests.support.page import read_page
from tests.support.passwords import CHEAP, PASSWORD
from tests.support.two_factor import turn_on

START, BACK, SECURITY = "/login/oidc", "/login/oidc/callback", "/settings/security"


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
    assert "Not connected" in read_page(await member.get(SECURITY)).text
    wrong = await member.post(f"{SECURITY}/provider", data={"password": "wrong"})
    assert wrong.status_code == 400
    assert read_page(wrong).faults == {"password": "Is not your current password"}
    done = await come_back(member, await connecting(member, provider))

    assert done.headers["location"] == f"{SECURITY}?done=connected"
    assert "Your account is connected" in read_page(await member.get(done.headers["location"])).notices[0]
    await work_off(runtime, clock)
    (mail,) = await messages(runtime, host.email)
    assert mail["Subject"] == "A new way to sign in to your account"
    assert provider.issuer in part(mail, "text/plain")
    async with connect(str(member.base_url), timeout=60) as other:
        assert (await sign_in(other, provider)).headers["location"] == "/"
        assert host.email in read_page(await other.get("/account")).text


async def test_with_a_second_factor_a_code_is_needed_to_connect(
    member: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, host: User
) -> None:
    phone = await turn_on(runtime, host)
    assert "code" in read_page(await member.get(SECURITY)).fields
    for code, words in (("", "Enter a code"), ("000000", "Is wrong, has expired or was already used")):
        refused = await member.post(f"{SECURITY}/provider", data={"password": PASSWORD, "code": code})

        assert refused.status_code == 400
        assert read_page(refused).faults.keys() == {"code"}
        assert read_page(refused).faults == {"code": words}
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

        assert answer.headers["x-error-code"] == "invalid_oidc_response"
        assert "openslot_session" not in str(answer.headers.get_list("set-cookie"))
    assert await runtime.pool.fetchval("select count(*) from identities") == 0


async def test_a_person_of_the_provider_has_one_account(
    member: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime, mara: User
) -> None:
    async with connect(str(member.base_url), timeout=60) as other:
        await sign_in(other, provider)
    answer = await come_back(member, await connecting(member, provider))

    assert (answer.status_code, answer.headers["x-error-code"]) == (409, "identity_already_connected")
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
    assert "your only way to sign in" in read_page(refused).notices[0]
    assert done.headers["location"] == f"{SECURITY}?done=disconnected"
    assert "no longer connected" in read_page(await member.get(done.headers["location"])).notices[0]
    assert await runtime.pool.fetchval("select count(*) from identities") == 0


def test_the_fake_speaks_the_documented_format() -> None:
    """The fields that OpenID Connect Discovery requires and that are used here are in what it says about itself."""
    described = json.loads(json.dumps(FakeProvider(lambda: None)._describe()))  # type: ignore[arg-type, return-value]

    assert {"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "response_types_supported"} <= set(
        described
    )
