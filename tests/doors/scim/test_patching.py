"""PATCH: every provider's way to say a change means the same change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslot.doors.scim.attributes import ENTERPRISE
from openslot.doors.scim.errors import InvalidFilter, InvalidPath, InvalidSyntax, InvalidValue, NoTarget, NotMutable
from openslot.doors.scim.patches import patch
from openslot.doors.scim.resources import Resource, check_user, read_user
from openslot.platform.core.errors import Refusal
from tests.doors.scim.strategies import USERS

MARA: Resource = {
    "userName": "mara@harbor.example",
    "externalId": "00u1",
    "name": {"givenName": "Mara", "familyName": "Lindqvist"},
    "active": True,
    "emails": [
        {"value": "mara@harbor.example", "type": "work", "primary": True},
        {"value": "mara@home.example", "type": "home"},
    ],
}


def patched(*operations: dict[str, Any], user: Resource = MARA) -> Resource:
    return patch(user, {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": list(operations)})


@st.composite
def ways_to(draw: st.DrawFn, wanted: dict[str, Any], current: dict[str, Any]) -> list[dict[str, Any]]:
    """Say a whole change, attribute by attribute, each in one of the ways that providers use."""
    operations: list[dict[str, Any]] = []
    for name in sorted({*wanted, *current}):
        op = draw(st.sampled_from(["replace", "Replace", "REPLACE"]))
        if name not in wanted:
            operations.append({"op": draw(st.sampled_from(["remove", "Remove"])), "path": name})
            continue
        value = wanted[name]
        if isinstance(value, bool) and draw(st.booleans()):
            value = str(value)
        if isinstance(value, dict):
            operations.append({"op": "remove", "path": name})
            operations += draw(_ways_to_set_parts(name, value, op))
        elif draw(st.booleans()):
            operations.append({"op": op, "path": name, "value": value})
        else:
            operations.append({"op": op, "value": {name: value}})
    return operations


@st.composite
def _ways_to_set_parts(draw: st.DrawFn, name: str, value: dict[str, Any], op: str) -> list[dict[str, Any]]:
    separator = ":" if name == ENTERPRISE else "."
    way = draw(st.integers(0, 3))
    if way == 0:
        return [{"op": op, "path": f"{name}{separator}{part}", "value": inner} for part, inner in value.items()]
    if way == 1:
        return [{"op": op, "value": {f"{name}{separator}{part}": inner for part, inner in value.items()}}]
    if way == 2:
        return [{"op": op, "value": {name: value}}]
    return [{"op": op, "path": name, "value": value}]


@given(st.data(), USERS, USERS)
def test_a_sequence_of_patches_equals_a_put_of_the_same(
    data: st.DataObject, current: dict[str, Any], wanted: dict[str, Any]
) -> None:
    operations = data.draw(ways_to(wanted, current))
    user = read_user(current)
    for operation in operations:
        user = patched(operation, user=user)

    assert user == check_user(read_user(wanted))
    assert patched(*operations, user=read_user(current)) == user


@pytest.mark.parametrize(
    ("operation", "changes"),
    [
        ({"op": "Replace", "path": "active", "value": "False"}, {"active": False}),
        ({"op": "replace", "value": {"active": False}}, {"active": False}),
        ({"op": "Add", "path": "displayName", "value": "M"}, {"displayName": "M"}),
        ({"OP": "add", "PATH": "DISPLAYNAME", "VALUE": "M"}, {"displayName": "M"}),
        (
            {"op": "replace", "value": {"name.givenName": "Mo"}},
            {"name": {"givenName": "Mo", "familyName": "Lindqvist"}},
        ),
        (
            {"op": "add", "path": "name", "value": {"givenName": "Mo"}},
            {"name": {"givenName": "Mo", "familyName": "Lindqvist"}},
        ),
        ({"op": "replace", "path": "name", "value": {"givenName": None}}, {"name": {"familyName": "Lindqvist"}}),
        ({"op": "add", "path": f"{ENTERPRISE}:department", "value": "Sales"}, {ENTERPRISE: {"department": "Sales"}}),
        ({"op": "add", "value": {f"{ENTERPRISE}:department": "Sales"}}, {ENTERPRISE: {"department": "Sales"}}),
        ({"op": "add", "value": {ENTERPRISE: {"department": "Sales"}}}, {ENTERPRISE: {"department": "Sales"}}),
        ({"op": "add", "path": ENTERPRISE, "value": {"department": "Sales"}}, {ENTERPRISE: {"department": "Sales"}}),
        ({"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "7"}, {ENTERPRISE: {"manager": {"value": "7"}}}),
        (
            {"op": "Replace", "path": f"{ENTERPRISE}:manager.value", "value": "7"},
            {ENTERPRISE: {"manager": {"value": "7"}}},
        ),
        ({"op": "replace", "path": "title", "value": None}, {}),
        ({"op": "Replace", "path": "title", "value": [{"$ref": None, "value": "Lead"}]}, {"title": "Lead"}),
        ({"op": "Replace", "path": "title", "value": ["Lead"]}, {"title": "Lead"}),
        ({"op": "replace", "path": "shoeSize", "value": 44}, {}),
        ({"op": "replace", "path": "urn:other:2.0:User:shoeSize", "value": 44}, {}),
        ({"op": "replace", "value": {"id": "x", "meta": {}, "schemas": [], "groups": [1], "password": "p"}}, {}),
        ({"op": "remove", "path": 'emails[type eq "fax"]'}, {}),
        ({"op": "remove", "path": "name.formatted"}, {}),
        (
            {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "m@x.example"},
            {"emails": [{"value": "m@x.example", "type": "work", "primary": True}, MARA["emails"][1]]},
        ),
        (
            {"op": "replace", "value": {'emails[type eq "work"].value': "m@x.example"}},
            {"emails": [{"value": "m@x.example", "type": "work", "primary": True}, MARA["emails"][1]]},
        ),
        (
            {"op": "Add", "path": 'emails[type eq "other"].value', "value": "m@x.example"},
            {"emails": [*MARA["emails"], {"type": "other", "value": "m@x.example"}]},
        ),
        (
            {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "1"},
            {"phoneNumbers": [{"type": "mobile", "value": "1"}]},
        ),
        (
            {"op": "replace", "path": 'emails[type eq "home"].primary', "value": "True"},
            {"emails": [{**MARA["emails"][0], "primary": False}, {**MARA["emails"][1], "primary": True}]},
        ),
        (
            {"op": "add", "path": "emails", "value": [{"value": "n@x.example", "primary": True}]},
            {
                "emails": [
                    {**MARA["emails"][0], "primary": False},
                    MARA["emails"][1],
                    {"value": "n@x.example", "primary": True},
                ]
            },
        ),
        ({"op": "add", "path": "emails", "value": MARA["emails"][1]}, {}),
        ({"op": "remove", "path": 'emails[type eq "home"]'}, {"emails": [MARA["emails"][0]]}),
        ({"op": "remove", "path": 'emails[type eq "home"].value'}, {"emails": [MARA["emails"][0]]}),
        (
            {"op": "remove", "path": "emails", "value": [{"value": "mara@home.example"}]},
            {"emails": [MARA["emails"][0]]},
        ),
        (
            {"op": "replace", "path": "emails[primary eq true]", "value": {"value": "m@x.example"}},
            {"emails": [{"primary": True, "value": "m@x.example"}, MARA["emails"][1]]},
        ),
    ],
)
def test_every_way_to_say_a_change_is_understood(operation: dict[str, Any], changes: dict[str, Any]) -> None:
    assert patched(operation) == {**MARA, **changes}


@pytest.mark.parametrize(
    ("operation", "refusal"),
    [
        ({"op": "remove"}, NoTarget),
        ({"op": "remove", "path": ""}, NoTarget),
        ({"op": "replace", "path": "id", "value": "x"}, NotMutable),
        ({"op": "add", "path": "meta.version", "value": "x"}, NotMutable),
        ({"op": "remove", "path": "userName"}, NotMutable),
        ({"op": "move", "path": "title"}, InvalidSyntax),
        ({"path": "title", "value": "x"}, InvalidSyntax),
        ({"op": "add", "path": 7, "value": "x"}, InvalidPath),
        ({"op": "add", "path": "emails[", "value": "x"}, InvalidPath),
        ({"op": "add", "path": "a b", "value": "x"}, InvalidPath),
        ({"op": "add", "path": 'title[type eq "work"]', "value": "x"}, InvalidPath),
        ({"op": "add", "path": "emails[type is 1].value", "value": "x"}, InvalidFilter),
        ({"op": "add", "path": 'emails[color eq "red"].value', "value": "x"}, InvalidFilter),
        ({"op": "add", "path": "title"}, InvalidValue),
        ({"op": "add", "value": "x"}, InvalidValue),
        ({"op": "add", "path": "title", "value": 7}, InvalidValue),
        ({"op": "add", "path": "title", "value": ["a", "b"]}, InvalidValue),
        ({"op": "add", "path": "active", "value": "perhaps"}, InvalidValue),
        ({"op": "add", "path": "name", "value": "Mara"}, InvalidValue),
        ({"op": "add", "path": "title", "value": "x" * 1001}, InvalidValue),
        ({"op": "replace", "path": "userName", "value": " "}, InvalidValue),
        ({"op": "replace", "path": "emails", "value": [{"value": "nobody"}]}, InvalidValue),
        ({"op": "add", "path": "emails", "value": [{"value": f"{n}@x.example"} for n in range(60)]}, InvalidValue),
        (
            {"op": "replace", "path": 'emails[type ne "work" and type ne "home"].value', "value": "x@x.example"},
            NoTarget,
        ),
    ],
)
def test_what_can_not_be_done_is_refused_with_its_type(operation: dict[str, Any], refusal: type[Refusal]) -> None:
    with pytest.raises(refusal):
        patched({"op": "replace", "path": "displayName", "value": "M"}, operation)


@pytest.mark.parametrize(
    "body", [{}, {"Operations": []}, {"Operations": "x"}, {"Operations": [7]}, {"Operations": [{}] * 101}]
)
def test_a_message_without_operations_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidSyntax):
        patch(MARA, body)


def test_a_user_whose_name_is_no_address_keeps_one_in_emails() -> None:
    user = {**MARA, "userName": "mara"}

    with pytest.raises(InvalidValue):
        patched({"op": "remove", "path": "emails"}, user=user)
    assert "emails" not in patched({"op": "remove", "path": "emails"})


def test_the_user_that_is_patched_stays_as_it_was() -> None:
    before = read_user(MARA)
    patched({"op": "add", "path": "emails", "value": [{"value": "n@x.example", "primary": True}]}, user=before)

    assert before == read_user(MARA)
