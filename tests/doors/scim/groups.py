"""Groups as an identity provider sends and reads them."""

from typing import Any

import httpx2
import pytest

from openslot.doors.scim.attributes import GROUP
from tests.support.provisioning import BASE, DOMAIN, SCIM, Provider

PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


async def send(provider: Provider, method: str, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
    answer = await provider.send(method, path, body)
    assert answer.status_code == status, answer.text
    if not answer.content:
        return {}
    assert answer.headers["content-type"] == SCIM
    found: dict[str, Any] = answer.json()
    return found


async def create(provider: Provider, name: str, *members: str, **more: Any) -> dict[str, Any]:
    body = {"schemas": [GROUP], "displayName": name, "members": [{"value": each} for each in members], **more}
    return await send(provider, "POST", "/Groups", body, status=201)


async def patch(provider: Provider, group_id: str, *operations: dict[str, Any]) -> httpx2.Response:
    body = {"schemas": [PATCH_OP], "Operations": list(operations)}
    return await provider.send("PATCH", f"/Groups/{group_id}", body)


async def find(provider: Provider, filter_: str, **parameters: Any) -> dict[str, Any]:
    answer = await provider.client.get(
        f"{BASE}/Groups",
        params={"filter": filter_, **parameters},
        headers={"Authorization": provider.headers["Authorization"]},
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def members_of(provider: Provider, group_id: str) -> set[str]:
    found = await send(provider, "GET", f"/Groups/{group_id}")
    return {each["value"] for each in found.get("members", [])}


@pytest.fixture
async def users(provider: Provider) -> list[str]:
    """The ids of three users."""
    return [(await provider.create(f"u{n}@{DOMAIN}", displayName=f"User {n}"))["id"] for n in range(3)]
