"""The SCIM door over HTTP: create, read, replace, change, remove, and how each is refused."""

import asyncio
from typing import Any

import httpx2

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, UserWanted
from openslot.domains.people import operations as people
from openslot.doors.scim.attributes import CORE, ENTERPRISE, GROUP
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.doors.scim.support import LI, assert_refused
from tests.support.provisioning import BASE, SCIM, Provider


async def test_a_joiner_gets_an_account_and_a_page_that_can_be_booked(provider: Provider, runtime: Runtime) -> None:
    answer = await provider.send(
        "POST", "/Users", {**LI, "password": "secret", "groups": [], "roles": [{"value": "x"}]}
    )
    made = answer.json()

    assert answer.status_code == 201
    assert answer.headers["location"].endswith(f"{BASE}/Users/{made['id']}")
    assert answer.headers["location"] == made["meta"]["location"]
    assert answer.headers["etag"] == made["meta"]["version"] == 'W/"1"'
    assert {key: value for key, value in made.items() if key not in {"id", "meta"}} == LI
    assert made == await provider.read(made["id"])
    user = await accounts.get_user_by_email(runtime.work(OPERATOR), "li@harbor.example")
    assert (user.name, user.zone, user.effective_plan) == ("Li Wen", "Asia/Tokyo", "BUSINESS")
    page = await provider.client.get(f"/api/public/{user.username}")
    assert [each["slug"] for each in page.json()["eventTypes"]] == ["30min"]


async def test_an_account_inside_the_domain_is_linked(provider: Provider, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        before = await people.welcome_user(work, UserWanted(email="Li@harbor.example", name="Li W."))
    made = await provider.create("li@harbor.example", displayName="Li")

    assert await runtime.pool.fetchval("select count(*) from users") == 1
    assert await runtime.pool.fetchval("select user_id from memberships") == before.id
    assert made["displayName"] == "Li"


async def test_who_is_a_user_already_is_not_created_again(provider: Provider) -> None:
    await provider.create("li@harbor.example")

    assert_refused(await provider.send("POST", "/Users", {"userName": "LI@harbor.example"}), 409, "uniqueness")
    other = {"userName": "other", "emails": [{"value": "li@harbor.example"}]}
    assert_refused(await provider.send("POST", "/Users", other), 409, "uniqueness")
    same_name = {"userName": "li@harbor.example", "emails": [{"value": "x@harbor.example"}]}
    assert_refused(await provider.send("POST", "/Users", same_name), 409, "uniqueness")


async def test_a_member_that_no_provider_made_shows_the_account(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, UserWanted(email="mara@harbor.example", name="Mara Lindqvist"))
        await add_organization_member(work, organization, user)
    shown = (await provider.find('userName eq "MARA@harbor.example"'))["Resources"][0]

    assert shown["userName"] == "mara@harbor.example"
    assert shown["name"] == {"formatted": "Mara Lindqvist", "givenName": "Mara", "familyName": "Lindqvist"}
    assert shown["emails"] == [{"value": "mara@harbor.example", "type": "work", "primary": True}]
    assert shown["active"] is True
    assert shown["meta"]["version"] == 'W/"1"'

    for name, version in (("Mara L.", 'W/"2"'), ("Mara", 'W/"3"')):
        async with runtime.transaction(OPERATOR) as work:
            await accounts.rename_user(work, user, name)
        read = await provider.read(shown["id"])
        assert (read["displayName"], read["meta"]["version"]) == (name, version)

    same_name = {"userName": "mara@harbor.example", "emails": [{"value": "x@harbor.example"}]}
    assert_refused(await provider.send("POST", "/Users", same_name), 409, "uniqueness")


WRONG: list[tuple[Any, str]] = [
    ({}, "invalidValue"),
    ({"userName": " "}, "invalidValue"),
    ({"userName": "li"}, "invalidValue"),
    ({"userName": "li", "emails": [{"value": "nobody"}]}, "invalidValue"),
    ({"userName": 7}, "invalidValue"),
    ({**LI, "active": "perhaps"}, "invalidValue"),
    ({**LI, "name": "Li"}, "invalidValue"),
    ({**LI, "title": "\x00"}, "invalidValue"),
    ([], "invalidSyntax"),
    ("x", "invalidSyntax"),
    (None, "invalidSyntax"),
]


async def test_a_wrong_user_is_refused(provider: Provider) -> None:
    for body, scim_type in WRONG:
        assert_refused(await provider.send("POST", "/Users", body), 400, scim_type)


async def test_a_broken_body_is_refused(provider: Provider) -> None:
    answer = await provider.client.post(f"{BASE}/Users", content=b'{"userName":', headers=provider.headers)

    assert_refused(answer, 400, "invalidSyntax")


async def test_put_replaces_everything_but_a_missing_active(provider: Provider) -> None:
    made = await provider.create(user_name="li@harbor.example", active=False, title="Lead", displayName="Li")
    answer = await provider.send("PUT", f"/Users/{made['id']}", {"userName": "li@harbor.example", "nickName": "L"})
    replaced = answer.json()

    assert answer.status_code == 200
    assert replaced["active"] is False
    assert replaced["nickName"] == "L"
    assert not {"title", "displayName"} & replaced.keys()
    assert replaced["meta"]["version"] == answer.headers["etag"] == 'W/"2"'
    assert_refused(await provider.send("PUT", f"/Users/{made['id']}", {"title": "x"}), 400, "invalidValue")


async def test_a_whole_user_that_was_read_can_be_put_back(provider: Provider) -> None:
    made = (await provider.send("POST", "/Users", LI)).json()
    answer = await provider.send("PUT", f"/Users/{made['id']}", made)

    assert answer.json() == made


async def test_a_patch_answers_with_the_whole_user(provider: Provider) -> None:
    made = (await provider.send("POST", "/Users", LI)).json()
    answer = await provider.patch(made["id"], {"op": "Add", "path": "title", "value": "Lead"})

    assert answer.status_code == 200
    assert answer.json() == {**made, "title": "Lead", "meta": answer.json()["meta"]}
    assert answer.json()["meta"]["version"] == 'W/"2"'


async def test_a_patch_of_which_one_part_is_wrong_changes_nothing(provider: Provider) -> None:
    made = (await provider.send("POST", "/Users", LI)).json()
    good, wrong = {"op": "add", "path": "title", "value": "x"}, {"op": "remove"}

    assert_refused(await provider.patch(made["id"], good, wrong), 400, "noTarget")
    assert await provider.read(made["id"]) == made


async def test_two_patches_at_once_never_lose_one(provider: Provider) -> None:
    made = await provider.create("li@harbor.example")
    names = ["title", "nickName", "displayName", "locale", "timezone", "preferredLanguage", "externalId"]
    answers = await asyncio.gather(
        *(provider.patch(made["id"], {"op": "add", "path": name, "value": name}) for name in names)
    )

    assert {answer.status_code for answer in answers} == {200}
    user = await provider.read(made["id"])
    assert {name: user[name] for name in names} == {name: name for name in names}
    assert user["meta"]["version"] == f'W/"{len(names) + 1}"'


async def test_of_two_at_once_with_one_name_one_is_created(provider: Provider) -> None:
    users = [{"userName": "li", "emails": [{"value": f"li{n}@harbor.example"}]} for n in range(6)]
    answers = await asyncio.gather(*(provider.send("POST", "/Users", user) for user in users))

    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409]


async def test_of_two_at_once_with_one_address_one_is_created(provider: Provider) -> None:
    answers = await asyncio.gather(*(provider.send("POST", "/Users", LI) for _ in range(6)))

    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409]


async def test_a_version_that_is_no_longer_true_is_refused(provider: Provider) -> None:
    made = await provider.create("li@harbor.example")
    change = {"op": "add", "path": "title", "value": "x"}
    path = f"/Users/{made['id']}"

    assert (await provider.patch(made["id"], change, If_Match='W/"1"')).status_code == 200
    assert_refused(await provider.patch(made["id"], change, If_Match='W/"1"'), 412)
    assert_refused(await provider.send("PUT", path, {"userName": "x@harbor.example"}, If_Match='W/"1"'), 412)
    assert_refused(await provider.send("DELETE", path, If_Match='W/"1"'), 412)
    assert (await provider.send("GET", path, If_None_Match='W/"2"')).status_code == 304
    assert (await provider.send("GET", path, If_None_Match='W/"1"')).status_code == 200
    assert (await provider.send("DELETE", path, If_Match='W/"1", W/"2"')).status_code == 204


async def test_a_change_that_changes_nothing_is_no_new_version(provider: Provider) -> None:
    made = await provider.create("li@harbor.example", title="x")
    answer = await provider.patch(made["id"], {"op": "replace", "path": "title", "value": "x"})

    assert answer.json() == made


async def test_who_is_removed_is_not_found_afterwards(provider: Provider) -> None:
    made = await provider.create("li@harbor.example")
    answer = await provider.send("DELETE", f"/Users/{made['id']}")

    assert (answer.status_code, answer.content) == (204, b"")
    for method, body in (("GET", None), ("DELETE", None), ("PUT", LI), ("PATCH", {"Operations": [{"op": "remove"}]})):
        assert_refused(await provider.send(method, f"/Users/{made['id']}", body), 404)
    assert (await provider.create("li@harbor.example"))["id"] != made["id"]


async def test_an_id_that_names_nobody_is_not_found(provider: Provider) -> None:
    for user_id in (str(new_id()), "7", "x" * 300, "%00", "..%2f", "%ed%a0%80"):
        assert_refused(await provider.send("GET", f"/Users/{user_id}"), 404)


async def test_pages_are_stable_and_totals_exact(provider: Provider) -> None:
    made = [(await provider.create(f"u{n}@harbor.example"))["id"] for n in range(7)]

    async def listed(**parameters: int) -> tuple[list[str], dict[str, Any]]:
        answer = await provider.client.get(f"{BASE}/Users", params=parameters, headers=provider.headers)
        body = answer.json()
        return [each["id"] for each in body.pop("Resources")], body

    ids, page = await listed()
    assert ids == made
    assert {key: page[key] for key in ("totalResults", "startIndex", "itemsPerPage")} == {
        "totalResults": 7,
        "startIndex": 1,
        "itemsPerPage": 7,
    }
    assert (await listed(startIndex=3, count=2))[0] == made[2:4]
    assert (await listed(startIndex=-5, count=2))[1]["startIndex"] == 1
    for count in (0, -3):
        ids, page = await listed(count=count)
        assert (ids, page["totalResults"], page["itemsPerPage"]) == ([], 7, 0)
    assert (await listed(startIndex=8))[1]["totalResults"] == 7
    assert (await listed(startIndex=100))[0] == []
    assert (await listed(count=5000))[0] == made


async def test_at_most_200_users_are_a_page(provider: Provider, runtime: Runtime, organization: Organization) -> None:
    await runtime.pool.execute(
        """with made as (insert into users (id, email, name, username, created_at, updated_at)
            select gen_random_uuid(), 'u' || n || '@harbor.example', 'U', 'u' || n, now(), now()
            from generate_series(1, 250) n returning id)
        insert into memberships (id, organization_id, user_id, created_at, updated_at)
        select gen_random_uuid(), $1, id, now(), now() from made""",
        organization.id,
    )
    answer = await provider.client.get(f"{BASE}/Users", params={"count": 1000}, headers=provider.headers)
    default = await provider.client.get(f"{BASE}/Users", headers=provider.headers)

    assert (len(answer.json()["Resources"]), answer.json()["totalResults"]) == (200, 250)
    assert len(default.json()["Resources"]) == 100


async def test_a_search_can_be_sent_as_a_body(provider: Provider) -> None:
    await provider.create("li@harbor.example")
    mo = await provider.create("mo@harbor.example", title="x")
    schema = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
    body = {"schemas": [schema], "filter": 'userName sw "mo"', "attributes": ["title"], "startIndex": 1, "count": 10}

    for path in ("/Users/.search", "/.search"):
        answer = (await provider.send("POST", path, body)).json()
        assert answer["totalResults"] == 1
        assert answer["Resources"] == [{"schemas": [CORE], "id": mo["id"], "title": "x"}]
        assert_refused(await provider.send("POST", path, {"filter": "x"}), 400, "invalidFilter")


async def test_every_answer_with_a_user_shows_the_part_that_is_asked_for(provider: Provider) -> None:
    made = (await provider.send("POST", "/Users?attributes=userName", LI)).json()
    assert made.keys() == {"schemas", "id", "userName"}
    path = f"/Users/{made['id']}"
    for method, body in (
        ("GET", None),
        ("PUT", LI),
        ("PATCH", {"Operations": [{"op": "add", "path": "title", "value": "x"}]}),
    ):
        shown = (await provider.send(method, f"{path}?excludedAttributes=emails,name,meta", body)).json()
        assert "userName" in shown
        assert not {"emails", "name", "meta"} & shown.keys()
    assert_refused(await provider.send("GET", f"{path}?attributes=id&excludedAttributes=name"), 400, "invalidValue")


async def test_discovery_tells_what_is_there(provider: Provider) -> None:
    config = (await provider.send("GET", "/ServiceProviderConfig")).json()
    assert (config["patch"]["supported"], config["bulk"]["supported"], config["filter"]["maxResults"]) == (
        True,
        False,
        200,
    )
    schemas = (await provider.send("GET", "/Schemas")).json()
    assert [each["id"] for each in schemas["Resources"]] == [CORE, ENTERPRISE, GROUP]
    for schema in schemas["Resources"]:
        assert (await provider.send("GET", f"/Schemas/{schema['id']}")).json() == schema
    types = (await provider.send("GET", "/ResourceTypes")).json()
    assert (await provider.send("GET", "/ResourceTypes/User")).json() == types["Resources"][0]
    assert (await provider.send("GET", "/ResourceTypes/Group")).json() == types["Resources"][1]
    assert (await provider.send("GET", "/Groups")).json()["totalResults"] == 0
    assert_refused(await provider.send("GET", "/Schemas/urn:nothing"), 404)
    assert_refused(await provider.send("GET", "/Nothing"), 404)


NOT_OFFERED = [
    ("GET", "/Me", 501),
    ("PATCH", "/Me", 501),
    ("POST", "/Bulk", 501),
    ("GET", "/Bulk", 405),
    ("DELETE", "/Users", 405),
    ("POST", "/Schemas", 405),
    ("PUT", "/ServiceProviderConfig", 405),
    ("GET", "/.search", 405),
    ("DELETE", "/Groups", 405),
]


async def test_what_is_not_offered_is_refused(provider: Provider) -> None:
    for method, path, status in NOT_OFFERED:
        assert_refused(await provider.send(method, path, {}), status)


async def test_bodies_are_json_of_either_name_and_not_too_large(provider: Provider) -> None:
    async def post(content: bytes, media_type: str) -> httpx2.Response:
        headers = {**provider.headers, "Content-Type": media_type}
        return await provider.client.post(f"{BASE}/Users", content=content, headers=headers)

    assert (await post(b'{"userName":"a@x.example"}', "application/json; charset=utf-8")).status_code == 201
    assert (await post(b'{"userName":"b@x.example"}', "application/scim+json;charset=utf-8")).status_code == 201
    assert_refused(await post(b"userName=c", "application/x-www-form-urlencoded"), 415)
    assert_refused(await post(b" " * 300_000, SCIM), 413)


async def test_numbers_that_are_none_are_refused(provider: Provider) -> None:
    for query in ("startIndex=x", "count=1.5", "count=99999999999999999999999", "count=1&count=2"):
        assert_refused(await provider.send("GET", f"/Users?{query}"), 400, "invalidValue")


async def test_the_extension_is_named_where_it_is_used_and_nowhere_else(provider: Provider) -> None:
    plain = await provider.create("li@harbor.example", displayName=f'{{"{ENTERPRISE}":1}}', title=f'"{ENTERPRISE}":')
    with_it = await provider.create("mo@harbor.example", **{ENTERPRISE: {"department": "Sales"}})

    assert plain["schemas"] == [CORE]
    assert plain["title"] == f'"{ENTERPRISE}":'
    assert with_it["schemas"] == [CORE, ENTERPRISE]
