"""Users whom a provider adds, and how it is refused."""

from typing import Any

import httpx2

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.doors.scim.attributes import CORE, ENTERPRISE
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.provisioning import DOMAIN, SCIM, Provider

SUSPEND_AS_TEXT = {"op": "Replace", "path": "active", "value": "False"}
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
LI: dict[str, Any] = {
    "schemas": [CORE, ENTERPRISE],
    "userName": "li@harbor.example",
    "externalId": "00u7",
    "name": {"givenName": "Li", "familyName": "Wen"},
    "displayName": "Li Wen",
    "timezone": "Asia/Tokyo",
    "active": True,
    "emails": [{"value": "li@harbor.example", "type": "work", "primary": True}],
    ENTERPRISE: {"department": "Sales", "manager": {"value": "9"}},
}


async def is_open(runtime: Runtime, user: User) -> bool:
    return (await accounts.get_user(runtime.work(OPERATOR), user.id)).disabled_at is None


async def join(provider: Provider, mara: User) -> str:
    made = await provider.create(mara.email)
    return str(made["id"])


async def crowd(provider: Provider, count: int) -> list[str]:
    return [(await provider.create(f"u{n}@{DOMAIN}"))["id"] for n in range(count)]


def assert_refused(answer: httpx2.Response, status: int, scim_type: str | None = None) -> None:
    body = answer.json()
    assert (answer.status_code, body["status"], body.get("scimType")) == (status, str(status), scim_type), answer.text
    assert body["schemas"] == [ERROR]
    assert body["detail"]
    assert answer.headers["content-type"] == SCIM
