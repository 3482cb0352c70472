"""Who is let in by which door, and what those who are not are told."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import httpx2
import msgspec
import pytest

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.access.jobs import tidy_access
from openslot.domains.access.models import CredentialKind, new_key
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Forbidden, Invalid, NotFound
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.live import connect, serving

ME = "/api/v1/me"
Spoil = Callable[[Runtime, User, str], Awaitable[str]]


def as_bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def _missing(_runtime: Runtime, _user: User, _key: str) -> str:
    return ""


async def _malformed(_runtime: Runtime, _user: User, key: str) -> str:
    return f"Bearer {key}x"


async def _unknown(_runtime: Runtime, _user: User, _key: str) -> str:
    return f"Bearer {new_key(CredentialKind.API_KEY)}"


async def _other_scheme(_runtime: Runtime, _user: User, key: str) -> str:
    return f"Token {key}"


async def _expired(runtime: Runtime, _user: User, key: str) -> str:
    await runtime.pool.execute("update api_keys set expires_at = now() - interval '1 hour'")
    return f"Bearer {key}"


async def _revoked(runtime: Runtime, user: User, key: str) -> str:
    async with runtime.transaction(OPERATOR) as work:
        (shown,) = await access.list_credentials(work, CredentialKind.API_KEY, user.id)
        await access.revoke_credential(work, CredentialKind.API_KEY, user.id, shown.id)
    return f"Bearer {key}"


async def _disabled(runtime: Runtime, user: User, key: str) -> str:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)
    return f"Bearer {key}"


async def _downgraded(runtime: Runtime, user: User, key: str) -> str:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.FREE)
    return f"Bearer {key}"


async def _lapsed(runtime: Runtime, user: User, key: str) -> str:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.PRO, until=work.now)
    return f"Bearer {key}"


CAUSES: list[Spoil] = [
    _missing,
    _malformed,
    _unknown,
    _other_scheme,
    _expired,
    _revoked,
    _disabled,
    _downgraded,
    _lapsed,
]


@pytest.mark.parametrize("spoil", CAUSES, ids=lambda cause: cause.__name__)
async def test_every_cause_gets_the_same_401_on_the_next_request(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, api_key: str, spoil: Spoil
) -> None:
    assert (await client.get(ME, headers=as_bearer(api_key))).status_code == 200

    answer = await client.get(ME, headers={"Authorization": await spoil(runtime, user, api_key)})

    assert answer.status_code == 401
    assert answer.content == b'{"error":"Missing or invalid credentials"}'
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "ratelimit-limit" not in answer.headers


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/", "/api/v1/nowhere", "/api/v1/me/x"])
async def test_every_path_of_the_door_asks_for_a_key(client: httpx2.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 401
    assert (await client.post(path)).status_code == 401


async def test_the_scheme_is_read_in_any_letter_case(client: httpx2.AsyncClient, api_key: str) -> None:
    headers = [{"Authorization": f"{scheme} {api_key}"} for scheme in ("bearer", "BEARER", "Bearer ")]

    assert [(await client.get(ME, headers=each)).status_code for each in headers] == [200] * 3


async def test_what_opens_another_door_does_not_open_this_one(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Org", slug="org", plan=Plan.BUSINESS)
        token, _ = await access.create_scim_token(work, organization, name="t")
        agent_key, _ = await access.create_agent_key(work, "orchestrator", name="a")
        session = await access.begin_session(work, user, user_agent="test")
    cookie = {"Cookie": f"openslot_session={session}"}
    tries: list[dict[str, str]] = [as_bearer(token), as_bearer(agent_key), as_bearer(session), cookie]
    answers = [await client.get(ME, headers=headers) for headers in tries]

    assert [answer.status_code for answer in answers] == [401] * 4
    assert (await client.get("/account", headers=cookie)).status_code == 200


@pytest.mark.parametrize("path", ["//api/v1/me", "/api//v1/me", "/api/v1/me/", "/%2Fapi/v1/me"])
async def test_no_spelling_of_a_path_lets_a_session_in_by_the_door_for_keys(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, path: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        session = await access.begin_session(work, user, user_agent="test")
    url = httpx2.URL(client.base_url, raw_path=path.encode())
    answer = await client.get(url, headers={"Cookie": f"openslot_session={session}"})

    assert answer.status_code == 401


async def test_an_api_key_does_not_open_the_pages(client: httpx2.AsyncClient, api_key: str) -> None:
    answer = await client.get("/account", headers={**as_bearer(api_key), "Cookie": f"openslot_session={api_key}"})

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login")


async def test_a_key_lives_until_its_expiry(settings: Settings, runtime: Runtime, user: User) -> None:
    shift = timedelta()
    app = create_app(settings, clock=lambda: datetime.now(UTC) + shift)
    async with runtime.transaction(OPERATOR) as work:
        expiry = work.now + timedelta(days=30)
        key, _ = await access.create_api_key(work, user, name="k", expires_at=expiry)
    async with serving(app) as url, connect(url) as client:
        before = await client.get(ME, headers=as_bearer(key))
        shift = timedelta(days=29, hours=23)
        near = await client.get(ME, headers=as_bearer(key))
        shift = timedelta(days=30)
        after = await client.get(ME, headers=as_bearer(key))

    assert [answer.status_code for answer in (before, near, after)] == [200, 200, 401]


async def test_the_last_use_is_known_to_the_minute_and_kept_when_the_log_is_forgotten(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str]
) -> None:
    async def last_use() -> datetime | None:
        work = runtime.work(OPERATOR)
        (credential,) = await access.list_credentials(work, CredentialKind.API_KEY, user.id)
        return credential.last_used_at

    assert await last_use() is None
    await client.get(ME, headers=bearer)
    used = await last_use()
    assert used is not None
    assert (used.second, used.microsecond) == (0, 0)
    assert timedelta(0) <= runtime.clock() - used < timedelta(minutes=2)

    async with runtime.transaction(SYSTEM) as work:
        await tidy_access(work)
        await work.db.execute("delete from rate_log")
    assert await last_use() == used


async def test_a_plan_of_the_organization_opens_the_door_too(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str]
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.FREE)
        organization = await add_organization(work, name="Org", slug="org", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)
    inside = await client.get(ME, headers=bearer)
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, organization, user)
    outside = await client.get(ME, headers=bearer)

    assert (inside.json()["plan"], inside.json()["effectivePlan"]) == ("FREE", "BUSINESS")
    assert outside.status_code == 401


async def test_a_key_comes_with_pro_and_business_alone(runtime: Runtime, user: User) -> None:
    free = msgspec.structs.replace(user, effective_plan=Plan.FREE)
    with pytest.raises(Forbidden):
        async with runtime.transaction(OPERATOR) as work:
            await access.create_api_key(work, free, name="k")


async def test_an_expiry_lies_in_the_future(runtime: Runtime, user: User) -> None:
    with pytest.raises(Invalid) as refused:
        async with runtime.transaction(OPERATOR) as work:
            await access.create_api_key(work, user, name="k", expires_at=work.now)

    assert refused.value.details == {"expiresAt": "must be in the future"}


async def test_nobody_revokes_anothers_key(runtime: Runtime, user: User, admin: User, api_key: str) -> None:
    async with runtime.transaction(OPERATOR) as work:
        (key,) = await access.list_credentials(work, CredentialKind.API_KEY, user.id)
        for owner, wanted in ((admin.id, key.id), (user.id, new_id())):
            with pytest.raises(NotFound):
                await access.revoke_credential(work, CredentialKind.API_KEY, owner, wanted)
        (still,) = await access.list_credentials(work, CredentialKind.API_KEY, user.id)

    assert still.is_active(now=work.now)
    assert still.last_four == api_key[-4:]
