"""The log of what a provider did: every answer, for 30 days, each token's own."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.models import CredentialKind
from openslot.domains.accounts.models import Organization
from openslot.doors.scim.models import LoggedRequest
from openslot.doors.scim.operations import list_requests, tidy_scim
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from tests.doors.scim.support import LI
from tests.support.provisioning import Provider


async def logged(runtime: Runtime, organization: Organization) -> list[LoggedRequest]:
    work = runtime.work(OPERATOR)
    tokens = await access.list_credentials(work, CredentialKind.SCIM_TOKEN, organization.id)
    return await list_requests(work, [token.id for token in tokens])


async def test_every_request_is_logged_with_its_user_and_its_answer(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    made = (await provider.send("POST", "/Users", LI)).json()
    await provider.send("POST", "/Users", LI)
    await provider.find('userName eq "x"')
    await provider.patch(made["id"], {"op": "replace", "path": "active", "value": False})
    await provider.send("DELETE", f"/Users/{made['id']}")
    await provider.send("GET", "/Users/%00?secret=1")
    log = await logged(runtime, organization)

    assert [(each.method, each.path.replace(made["id"], "ID"), each.status, each.user_name) for each in log] == [
        ("GET", "/Users/\\x00", 404, None),
        ("DELETE", "/Users/ID", 204, LI["userName"]),
        ("PATCH", "/Users/ID", 200, LI["userName"]),
        ("GET", "/Users", 200, None),
        ("POST", "/Users", 409, None),
        ("POST", "/Users", 201, LI["userName"]),
    ]
    assert {each.token_name for each in log} == {"Okta"}
    assert str(log[-1].member_id) == made["id"]
    assert log[-2].detail == "Another user of this organization has this userName"


async def test_a_wrong_token_is_nobodys_and_leaves_no_line(
    provider: Provider, runtime: Runtime, client: httpx2.AsyncClient
) -> None:
    await Provider(client, "svc_scim_x").send("GET", "/Users")

    assert await runtime.pool.fetchval("select count(*) from scim_requests") == 0


@pytest.mark.own_database
async def test_where_the_log_can_not_be_written_the_answer_stands(provider: Provider, runtime: Runtime) -> None:
    await runtime.pool.execute("drop table scim_requests")
    made = await provider.create("li@harbor.example")

    assert (await provider.read(made["id"]))["userName"] == "li@harbor.example"


async def test_lines_are_kept_for_30_days(provider: Provider, runtime: Runtime, organization: Organization) -> None:
    await provider.send("GET", "/Users")
    await provider.send("GET", "/Groups")
    for path, days in (("/Users", 31), ("/Groups", 29)):
        await runtime.pool.execute(
            "update scim_requests set at = at - $2::interval where path = $1", path, timedelta(days=days)
        )
    said = await tidy_scim(runtime.work(SYSTEM))

    assert said == "1 logged requests, 0 invitations removed"
    assert [each.path for each in await logged(runtime, organization)] == ["/Groups"]


async def test_old_departures_and_invitations_go(provider: Provider, runtime: Runtime) -> None:
    made = await provider.create("li@harbor.example")
    await provider.patch(made["id"], {"op": "replace", "path": "active", "value": False})
    await tidy_scim(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from departures") == 1
    assert await runtime.pool.fetchval("select count(*) from invitations") == 1
    await runtime.pool.execute("update departures set at = at - interval '2 hours'")
    await runtime.pool.execute("update invitations set expires_at = expires_at - interval '50 days'")
    await tidy_scim(runtime.work(SYSTEM))

    assert await runtime.pool.fetchval("select count(*) from departures") == 0
    assert await runtime.pool.fetchval("select count(*) from invitations") == 0
