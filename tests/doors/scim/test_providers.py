"""What identity providers send: connection test, joiner, mover, leaver, return.

The shapes follow what Okta and Entra are known to send, and what is published about OneLogin, JumpCloud and Google.
"""

from typing import Any

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.doors.scim.attributes import CORE, ENTERPRISE
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.provisioning import DOMAIN, Provider

EMAIL = f"bjensen@{DOMAIN}"
NEW_EMAIL = f"barbara.smith@{DOMAIN}"


async def account(runtime: Runtime, email: str) -> User:
    return await accounts.get_user_by_email(runtime.work(OPERATOR), email)


async def assert_account(runtime: Runtime, email: str, name: str, *, is_open: bool) -> None:
    found = await account(runtime, email)
    assert (found.name, found.disabled_at is None) == (name, is_open)


async def good(provider: Provider, method: str, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
    answer = await provider.send(
        method, path, body, Accept="application/scim+json", User_Agent="Okta SCIM Client 1.0.0"
    )
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json() if answer.content else {}
    return found


async def test_okta(provider: Provider, runtime: Runtime) -> None:
    page = await good(provider, "GET", "/Users?startIndex=1&count=2")
    assert (page["totalResults"], page["Resources"]) == (0, [])
    asked = f"/Users?filter=userName%20eq%20%22{EMAIL}%22&startIndex=1&count=100"
    assert (await good(provider, "GET", asked))["totalResults"] == 0
    made = await good(
        provider,
        "POST",
        "/Users",
        {
            "schemas": [CORE],
            "userName": EMAIL,
            "name": {"givenName": "Barbara", "familyName": "Jensen"},
            "emails": [{"primary": True, "value": EMAIL, "type": "work"}],
            "displayName": "Barbara Jensen",
            "locale": "en-US",
            "externalId": "00ujl29u0le5T6Aj10h7",
            "groups": [],
            "password": "1mz050nq",
            "active": True,
        },
        status=201,
    )
    path = f"/Users/{made['id']}"
    assert (await good(provider, "GET", asked))["Resources"] == [made]
    await assert_account(runtime, EMAIL, "Barbara Jensen", is_open=True)

    # An update is a PUT of the whole user as it was read.
    whole = await good(provider, "GET", path)
    whole["name"]["familyName"] = "Smith"
    whole["userName"] = NEW_EMAIL
    whole["emails"] = [{"primary": True, "value": NEW_EMAIL, "type": "work"}]
    moved = await good(provider, "PUT", path, {**whole, "groups": []})
    assert moved["userName"] == NEW_EMAIL
    await assert_account(runtime, NEW_EMAIL, "Barbara Smith", is_open=True)

    patch_op = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
    await good(
        provider, "PATCH", path, {"schemas": [patch_op], "Operations": [{"op": "replace", "value": {"active": False}}]}
    )
    await assert_account(runtime, NEW_EMAIL, "Barbara Smith", is_open=False)
    back = {"schemas": [patch_op], "Operations": [{"op": "replace", "value": {"active": True}}]}
    assert (await good(provider, "PATCH", path, back))["active"] is True
    await assert_account(runtime, NEW_EMAIL, "Barbara Smith", is_open=True)
    password = {"schemas": [patch_op], "Operations": [{"op": "replace", "value": {"password": "7ElPHAt2"}}]}
    await good(provider, "PATCH", path, password)
    # Integrations made with the wizard deactivate by PUT.
    await good(provider, "PUT", path, {**moved, "active": False})
    await assert_account(runtime, NEW_EMAIL, "Barbara Smith", is_open=False)
    assert (await good(provider, "GET", "/Groups?startIndex=1&count=100"))["totalResults"] == 0


async def test_entra(provider: Provider, runtime: Runtime) -> None:
    nobody = "/Users?filter=userName+eq+%2289a9c5ec-4d3f-4d0a-9f4e-5d1c0f5b1b0a%22"
    assert (await good(provider, "GET", nobody))["totalResults"] == 0
    made = await good(
        provider,
        "POST",
        "/Users",
        {
            "schemas": [CORE, ENTERPRISE],
            "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
            "userName": EMAIL,
            "active": True,
            "displayName": "Barbara Jensen",
            "emails": [{"primary": True, "type": "work", "value": EMAIL}],
            "meta": {"resourceType": "User"},
            "name": {"formatted": "Barbara Jensen", "familyName": "Jensen", "givenName": "Barbara"},
            "roles": [],
            ENTERPRISE: {"department": "Bob", "manager": {"value": "SuzzyQ"}},
        },
        status=201,
    )
    path = f"/Users/{made['id']}"
    for filter_ in (
        f'userName eq "{EMAIL}"',
        f'USERNAME EQ "{EMAIL.upper()}"',
        'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
        f'emails[type eq "work"].value eq "{EMAIL}"',
    ):
        assert [each["id"] for each in (await provider.find(filter_))["Resources"]] == [made["id"]], filter_

    moved = await provider.patch(
        made["id"],
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": NEW_EMAIL},
        {"op": "Replace", "path": "userName", "value": NEW_EMAIL},
        {"op": "Replace", "path": "name.familyName", "value": "Smith"},
        {"op": "Replace", "path": "name.formatted", "value": "Barbara Smith"},
        {"op": "Add", "path": f"{ENTERPRISE}:employeeNumber", "value": "701984"},
        {"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "8c18f9f1-a19e-4a5a-8d2c-4b1b7fd0e0bd"},
        {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "+1 555 0100"},
        {"op": "Remove", "path": f"{ENTERPRISE}:department"},
    )
    user = moved.json()
    assert moved.status_code == 200
    assert user["emails"] == [{"primary": True, "type": "work", "value": NEW_EMAIL}]
    assert user["phoneNumbers"] == [{"type": "mobile", "value": "+1 555 0100"}]
    assert user[ENTERPRISE] == {
        "employeeNumber": "701984",
        "manager": {"value": "8c18f9f1-a19e-4a5a-8d2c-4b1b7fd0e0bd"},
    }
    await assert_account(runtime, NEW_EMAIL, "Barbara Smith", is_open=True)

    # With and without the flag for compliance: strings for booleans, and all changes as one object.
    assert (await provider.patch(made["id"], {"op": "Replace", "path": "active", "value": "False"})).json()[
        "active"
    ] is False
    await assert_account(runtime, NEW_EMAIL, "Barbara Smith", is_open=False)
    flat = {"active": "True", "displayName": "Barb", "name.givenName": "Barb", f"{ENTERPRISE}:department": "R&D"}
    user = (await provider.patch(made["id"], {"op": "replace", "value": flat})).json()
    assert (user["active"], user["name"]["givenName"], user[ENTERPRISE]["department"]) == (True, "Barb", "R&D")
    await assert_account(runtime, NEW_EMAIL, "Barb Smith", is_open=True)
    await good(provider, "GET", f"{path}?excludedAttributes=groups")
    await provider.patch(made["id"], {"op": "Replace", "path": "active", "value": False})
    await good(provider, "DELETE", path, status=204)
    assert (await provider.find(f'userName eq "{NEW_EMAIL}"'))["totalResults"] == 0


async def test_onelogin(provider: Provider, runtime: Runtime) -> None:
    await good(provider, "GET", "/ServiceProviderConfig")
    await good(provider, "GET", "/Schemas")
    assert (await provider.find(f'userName eq "{EMAIL}"'))["totalResults"] == 0
    body = {
        "schemas": [CORE, ENTERPRISE],
        "userName": EMAIL,
        "externalId": "41890351",
        "name": {"givenName": "Barbara", "familyName": "Jensen", "formatted": "Barbara Jensen"},
        "emails": [{"value": EMAIL, "type": "work", "primary": True}],
        "title": "",
        "phoneNumbers": [{"value": "", "type": "work"}],
        ENTERPRISE: {"department": "", "manager": {"displayName": "", "managerId": ""}},
        "active": True,
    }
    made = await good(provider, "POST", "/Users", body, status=201)
    path = f"/Users/{made['id']}"
    renamed = {**body, "id": made["id"], "name": {"givenName": "Barbara", "familyName": "Smith"}}
    await good(provider, "PUT", path, renamed)
    await assert_account(runtime, EMAIL, "Barbara Smith", is_open=True)
    await provider.patch(made["id"], {"op": "replace", "path": "active", "value": False})
    await assert_account(runtime, EMAIL, "Barbara Smith", is_open=False)
    await provider.patch(made["id"], {"op": "replace", "path": f"{CORE}:active", "value": True})
    await assert_account(runtime, EMAIL, "Barbara Smith", is_open=True)
    await good(provider, "DELETE", path, status=204)


async def test_jumpcloud(provider: Provider, runtime: Runtime) -> None:
    # The connection test makes a user, reads, changes and removes it again.
    body = {
        "schemas": [CORE],
        "userName": EMAIL,
        "name": {"familyName": "Jensen", "givenName": "Barbara"},
        "emails": [{"primary": True, "type": "work", "value": EMAIL}],
        "addresses": [{"type": "work", "country": "US"}],
        "active": True,
        "externalId": "5f1b2c3d4e5f6a7b8c9d0e1f",
    }
    assert (await provider.find(f'userName eq "{EMAIL}"', startIndex=1, count=1))["totalResults"] == 0
    made = await good(provider, "POST", "/Users", body, status=201)
    path = f"/Users/{made['id']}"
    await good(
        provider, "PUT", path, {**body, "id": made["id"], "name": {"givenName": "Barbara", "familyName": "Smith"}}
    )
    await assert_account(runtime, EMAIL, "Barbara Smith", is_open=True)
    await good(provider, "PUT", path, {**body, "active": False})
    await assert_account(runtime, EMAIL, "Barbara Jensen", is_open=False)
    await good(provider, "PUT", path, {**body, "active": True})
    await assert_account(runtime, EMAIL, "Barbara Jensen", is_open=True)
    again = await provider.send("POST", "/Users", body)
    assert (again.status_code, again.json()["scimType"]) == (409, "uniqueness")
    await good(provider, "DELETE", path, status=204)


async def test_google(provider: Provider, runtime: Runtime) -> None:
    assert (await good(provider, "GET", f"/Users?filter=userName%20eq%20%22{EMAIL}%22"))["totalResults"] == 0
    body = {
        "schemas": [CORE, ENTERPRISE],
        "externalId": "108123456789012345678",
        "userName": EMAIL,
        "name": {"givenName": "Barbara", "familyName": "Jensen", "formatted": "Barbara Jensen"},
        "emails": [{"type": "work", "value": EMAIL, "primary": True}],
        "active": True,
    }
    made = await good(provider, "POST", "/Users", body, status=201)
    path = f"/Users/{made['id']}"
    name = {"givenName": "Barbara", "familyName": "Smith", "formatted": "Barbara Smith"}
    changed = await provider.patch(made["id"], {"op": "replace", "value": {"name": name, "externalId": "108"}})
    assert changed.json()["externalId"] == "108"
    await assert_account(runtime, EMAIL, "Barbara Smith", is_open=True)
    await provider.patch(made["id"], {"op": "REPLACE", "value": {"active": "false"}})
    await assert_account(runtime, EMAIL, "Barbara Smith", is_open=False)
    await provider.patch(made["id"], {"op": "REPLACE", "value": {"active": "true"}})
    await assert_account(runtime, EMAIL, "Barbara Smith", is_open=True)
    await good(provider, "DELETE", path, status=204)
    assert (await provider.send("DELETE", path)).status_code == 404
