"""Users as providers send them, and the part of them that is shown."""

from typing import Any

import msgspec
import pytest
from hypothesis import given

from openslot.doors.scim.attributes import CORE, ENTERPRISE, describe_schemas
from openslot.doors.scim.errors import InvalidValue
from openslot.doors.scim.resources import (
    derive_user,
    etag,
    find_new_name,
    get_email,
    get_name,
    is_named,
    read_projection,
    read_user,
)
from tests.doors.scim.strategies import USERS

USER = {
    "schemas": [CORE, ENTERPRISE],
    "id": "7",
    "userName": "mara",
    "name": {"givenName": "Mara", "familyName": "Lindqvist"},
    "emails": [{"value": "m@x.example", "type": "work"}],
    ENTERPRISE: {"department": "Sales", "manager": {"value": "1", "displayName": "Jo"}},
    "meta": {"version": 'W/"1"', "location": "/Users/7"},
}


@given(USERS)
def test_what_is_read_is_read_back(user: dict[str, Any]) -> None:
    assert read_user(read_user(user)) == read_user(user) == user


def test_names_are_read_in_any_case_and_what_is_not_kept_is_passed_over() -> None:
    sent = {"USERNAME": "m", "Emails": {"Value": "m@x.example"}, "password": "p", "groups": [], "roles": [7], "id": "x"}

    assert read_user(sent | {"title": None, "urn:x": {}}) == {"userName": "m", "emails": [{"value": "m@x.example"}]}


def test_of_several_primary_values_the_first_one_is() -> None:
    sent = [{"value": "a@x.example", "primary": True}, {"value": "b@x.example", "primary": "true"}]

    assert [each["primary"] for each in read_user({"userName": "m", "emails": sent})["emails"]] == [True, False]


@pytest.mark.parametrize(
    ("emails", "chosen"),
    [
        ([], "u@x.example"),
        ([{"value": "a@x.example"}, {"value": "b@x.example", "primary": True}], "b@x.example"),
        ([{"value": "a@x.example"}, {"value": "b@x.example", "type": "Work"}], "b@x.example"),
        ([{"value": "a@x.example"}, {"value": "b@x.example"}], "a@x.example"),
        ([{"value": " "}, {"value": "b@x.example"}], "b@x.example"),
    ],
)
def test_the_accounts_address_is_the_primary_one_or_the_one_for_work(emails: list[Any], chosen: str) -> None:
    assert get_email({"userName": "u@x.example", "emails": emails}) == chosen


@pytest.mark.parametrize("emails", [[], [{"value": "nobody"}]])
def test_without_an_address_there_is_no_account(emails: list[Any]) -> None:
    with pytest.raises(InvalidValue):
        get_email({"userName": "mara", "emails": emails})


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ({"name": {"formatted": "Mara  L.", "givenName": "x"}, "displayName": "D"}, "Mara L."),
        ({"name": {"givenName": "Mara", "familyName": "Lindqvist"}, "displayName": "D"}, "Mara Lindqvist"),
        ({"name": {"familyName": "Lindqvist"}}, "Lindqvist"),
        ({"displayName": "D\nE"}, "D E"),
        ({}, "u"),
        ({"displayName": "x" * 300}, "x" * 200),
    ],
)
def test_the_accounts_name_is_what_the_provider_says(user: dict[str, Any], name: str) -> None:
    assert get_name({"userName": "u@x.example", **user}) == name


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (
            {"formatted": "Mara L", "familyName": "L"},
            {"formatted": "Mara L", "familyName": "O", "givenName": "M"},
            "M O",
        ),
        ({"formatted": "Mara L", "familyName": "L"}, {"formatted": "Mara O", "familyName": "O"}, "Mara O"),
        ({"formatted": "Mara L"}, {"formatted": "Mara O"}, "Mara O"),
        ({"formatted": "Mara L"}, {"formatted": "Mara L"}, None),
        ({"givenName": "M", "familyName": "L"}, {"formatted": "M L"}, None),
    ],
)
def test_a_new_name_is_the_part_that_has_changed(
    before: dict[str, str], after: dict[str, str], name: str | None
) -> None:
    assert (
        find_new_name({"userName": "u@x.example", "name": before}, {"userName": "u@x.example", "name": after}) == name
    )


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Mara Lindqvist", {"formatted": "Mara Lindqvist", "givenName": "Mara", "familyName": "Lindqvist"}),
        ("Ana de la Cruz", {"formatted": "Ana de la Cruz", "givenName": "Ana de la", "familyName": "Cruz"}),
        ("Mara", {"formatted": "Mara", "givenName": "Mara"}),
    ],
)
def test_an_account_that_no_provider_made_has_its_name_split(name: str, parts: dict[str, str]) -> None:
    assert derive_user(email="m@x.example", name=name)["name"] == parts


@pytest.mark.parametrize(
    ("attributes", "shown"),
    [
        ("userName", {"userName"}),
        ("USERNAME,id", {"userName"}),
        (f"{CORE}:userName", {"userName"}),
        ("name.givenName", {"name"}),
        ("emails.value,nothing", {"emails"}),
        (f"{ENTERPRISE}:department", {ENTERPRISE}),
        (ENTERPRISE, {ENTERPRISE}),
        ("nothing", set()),
    ],
)
def test_only_what_is_asked_for_is_shown(attributes: str, shown: set[str]) -> None:
    assert read_projection(attributes, None).apply(USER).keys() == {"schemas", "id"} | shown


def test_parts_can_be_asked_for_and_left_out() -> None:
    assert read_projection("name.givenName", None).apply(USER)["name"] == {"givenName": "Mara"}
    assert read_projection(None, "name.givenName").apply(USER)["name"] == {"familyName": "Lindqvist"}
    assert read_projection(None, "emails.value").apply(USER)["emails"] == [{"type": "work"}]
    assert read_projection(None, f"{ENTERPRISE}:manager").apply(USER)[ENTERPRISE] == {"department": "Sales"}


def test_id_can_not_be_left_out() -> None:
    left = read_projection(None, f"id,schemas,meta,userName,{ENTERPRISE}").apply(USER)

    assert left.keys() == {"schemas", "id", "name", "emails"}


def test_both_lists_at_once_are_refused() -> None:
    with pytest.raises(InvalidValue):
        read_projection("id", "name")


def test_versions_are_compared_weakly() -> None:
    assert etag(3) == 'W/"3"'
    assert all(is_named(3, header) for header in ('W/"3"', '"3"', "*", '"1", W/"3"'))
    assert not any(is_named(3, header) for header in ('W/"33"', "3", "", '"1"'))


def test_no_schema_has_a_null_and_addresses_are_required() -> None:
    def nulls(value: object) -> bool:
        if isinstance(value, dict):
            return any(map(nulls, value.values()))
        return any(map(nulls, value)) if isinstance(value, list) else value is None

    schemas = msgspec.to_builtins(describe_schemas("http://x"))
    emails = next(each for each in schemas[0]["attributes"] if each["name"] == "emails")

    assert not nulls(schemas)
    assert emails["required"]
    assert next(part for part in emails["subAttributes"] if part["name"] == "value")["required"]
