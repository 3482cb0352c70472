"""What the fields of a contact must look like, as tables."""

from typing import Any

import pytest

from openslot.domains.contacts.fields import find_phone
from openslot.domains.contacts.schemas import ContactChanges, ContactWanted, check_fields
from openslot.platform.core.errors import Invalid


def kept(**given: Any) -> dict[str, Any]:
    return check_fields(ContactChanges(**given))


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ({"name": "  Noor Haddad "}, {"name": "Noor Haddad"}),
        ({"email": " Noor.Haddad@Example.ORG "}, {"email": "Noor.Haddad@Example.ORG"}),
        ({"email": "noor@xn--bcher-kva.example"}, {"email": "noor@bücher.example"}),
        ({"phone": "+49 (30) 1234-5678"}, {"phone": "+493012345678"}),
        ({"phone": ""}, {"phone": None}),
        ({"phone": None}, {"phone": None}),
        ({"company": "  "}, {"company": None}),
        ({"notes": "\n"}, {"notes": None}),
        ({"notes": " two\nlines "}, {"notes": " two\nlines "}),
        ({"tags": (" vip", "vip ", "VIP")}, {"tags": ("vip", "VIP")}),
        ({"tags": None}, {"tags": ()}),
        ({}, {}),
    ],
)
def test_fields_are_kept_in_one_form(given: dict[str, Any], normal: dict[str, Any]) -> None:
    assert kept(**given) == normal


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "   "),
        ("email", "noor"),
        ("email", "noor@localhost"),
        ("email", "noor@haddad..example"),
        ("phone", "030 12345678"),
        ("phone", "0049 30 12345678"),
        ("phone", "+49"),
        ("phone", "+999999999999999999"),
        ("phone", "call me"),
        ("tags", ("vip", " ")),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        kept(**{field: value})

    assert list(refused.value.details or {}) == [field]


def test_every_wrong_field_is_named_at_once() -> None:
    wrong: dict[str, Any] = {"name": " ", "email": "x", "phone": "12", "tags": (" ",)}
    with pytest.raises(Invalid) as refused:
        check_fields(ContactWanted(**wrong))

    assert set(refused.value.details or {}) == {"name", "email", "phone", "tags"}


def test_a_national_number_is_refused_with_a_way_out() -> None:
    with pytest.raises(Invalid) as refused:
        kept(phone="030 12345678")

    assert "must begin with +" in (refused.value.details or {})["phone"]


@pytest.mark.parametrize(("typed", "number"), [("+46 70 123 45 67", "+46701234567"), ("n/a", None), (None, None)])
def test_a_strangers_phone_number_is_kept_only_where_it_is_one(typed: str | None, number: str | None) -> None:
    assert find_phone(typed) == number
