"""Who comes in through an identity provider, and who does not."""

import ssl
from urllib.parse import parse_qs, urlsplit

import httpcore2
import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.security.oidc.signing_in import BACK, MARA, START, is_in, sign_in
from tests.support.clocks import MovingClock
from tests.support.live import connect, serving
from tests.support.oidc_provider import FakeProvider
from tests.support.page import read_page
from tests.support.two_factor import add_host, turn_on


async def test_the_sign_in_page_leads_to_the_provider_and_back(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    page = await client.get("/login", params={"next": "/bookings"})
    assert "Continue with Keycloak" in read_page(page).links
    assert f"{START}?next=/bookings" in read_page(page).addresses
    done = await sign_in(client, provider, "/bookings")

    assert (done.status_code, done.headers["location"]) == (303, "/bookings")
    assert mara.name in read_page(await client.get("/account")).text


@pytest.mark.usefixtures("mara")
async def test_no_sign_in_reads_the_certificates_of_the_system_again(
    client: httpx2.AsyncClient, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def load(**options: object) -> ssl.SSLContext:
        read.append(options)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(httpcore2, "default_ssl_context", load)

    assert (await sign_in(client, provider)).status_code == 303
    assert read == []


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
    assert mara.name in read_page(await client.get("/account")).text


async def test_an_address_that_is_not_verified_finds_no_account(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User
) -> None:
    for told in (False, None, "true", 1, "false"):
        provider.person["email_verified"] = told
        answer = await sign_in(client, provider)

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_email_unverified"), told
        assert not await is_in(client), told
        assert mara.email not in answer.text, told


async def test_another_mailbox_that_the_database_takes_for_the_same_finds_no_account(
    settings: Settings, provider: FakeProvider, runtime: Runtime, clock: MovingClock
) -> None:
    kari = await add_host(runtime, "kari")
    assert await runtime.pool.fetchval("select lower('KAR\u0130')") == "kari"
    creating = replace(settings, oidc_creates_accounts=True)
    async with serving(create_app(creating, clock=clock)) as url, connect(url, timeout=60) as client:
        provider.person |= {"sub": "another", "email": kari.email.replace("kari", "kar\u0130")}
        answer = await sign_in(client, provider)
        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_account_not_found")
        assert not await is_in(client)
        provider.person |= {"sub": "kari", "email": kari.email.upper()}
        assert (await sign_in(client, provider)).status_code == 303


async def test_an_account_is_not_handed_over_to_another_subject(
    client: httpx2.AsyncClient, provider: FakeProvider, mara: User, runtime: Runtime
) -> None:
    await sign_in(client, provider)
    client.cookies.clear()
    provider.person["sub"] = "somebody-with-the-old-address"
    answer = await sign_in(client, provider)

    assert (answer.status_code, answer.headers["x-error-code"]) == (409, "identity_already_connected")
    assert not await is_in(client)
    assert await runtime.pool.fetchval("select count(*) from identities where user_id = $1", mara.id) == 1


async def test_a_person_without_an_account_is_told_whom_to_ask(
    client: httpx2.AsyncClient, provider: FakeProvider, runtime: Runtime
) -> None:
    answer = await sign_in(client, provider)

    assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_account_not_found")
    assert "Ask your administrator to create an account" in read_page(answer).text
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

        assert (answer.status_code, answer.headers["x-error-code"]) == (403, "oidc_account_disabled")
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
