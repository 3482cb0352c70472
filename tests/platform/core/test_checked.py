"""Texts that check themselves: what is taken, in which form it is kept, and what is said of the rest."""

from typing import Annotated

import msgspec
import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from openslot.domains.contacts.fields import PhoneOrNone, Tag
from openslot.platform.core.moments import Moment
from openslot.platform.core.text import (
    CheckedText,
    EmailAddress,
    Name,
    Phone,
    PhoneFilter,
    describe_checked,
    read_checked,
)
from openslot.platform.core.times import Zone

TAKEN: tuple[tuple[type[CheckedText], str, str], ...] = (
    (EmailAddress, "jonas@okafor.example", "jonas@okafor.example"),
    (EmailAddress, "  Jonas@Okafor.example ", "Jonas@Okafor.example"),
    (EmailAddress, "jonas@ｏkafor.example", "jonas@okafor.example"),
    (Zone, "europe/BERLIN", "Europe/Berlin"),
    (Zone, "UTC", "UTC"),
    (Phone, " +49 (30) 123-45678 ", "+493012345678"),
    (PhoneFilter, "+493012345678", "+493012345678"),
    (PhoneFilter, " 493012345678", "+493012345678"),
    (PhoneOrNone, " ", ""),
    (Name, "  Mara Lindqvist ", "Mara Lindqvist"),
    (Name, "x" * 200, "x" * 200),
    (Tag, " vip ", "vip"),
    (Moment, "2026-03-16", "2026-03-16"),
)
REFUSED: tuple[tuple[type[CheckedText], str, str], ...] = (
    (EmailAddress, "", "is not a valid email address"),
    (EmailAddress, "jonas", "is not a valid email address"),
    (EmailAddress, "jonas@okafor", "is not a valid email address"),
    (EmailAddress, "a" * 250 + "@b.example", "is not a valid email address"),
    (EmailAddress, "a\nb@c.example", "is not a valid email address"),
    (Zone, "", "is not a time zone; use a name such as Europe/Berlin"),
    (Zone, "Mars/Base", "is not a time zone; use a name such as Europe/Berlin"),
    (Zone, "Europe/Berlin\0", "is not a time zone; use a name such as Europe/Berlin"),
    (Phone, "", "must begin with + and the country code, such as +493012345678"),
    (Phone, "030 12345678", "must begin with + and the country code, such as +493012345678"),
    (Phone, "+49", "is not a phone number"),
    (PhoneFilter, "+49 30", "must be an E.164 phone number: + and up to 15 digits, such as +493012345678"),
    (PhoneOrNone, "x", "must begin with + and the country code, such as +493012345678"),
    (Name, " ", "must not be empty"),
    (Name, "x" * 201, "must have at most 200 characters"),
    (Name, "a\nb", "has characters that are not allowed"),
    (Name, "a\n", "has characters that are not allowed"),
    (Tag, "x" * 51, "must have at most 50 characters"),
    (Moment, "tomorrow", "must be a date or a date-time, such as 2026-03-16 or 2026-03-16T09:00:00Z"),
)


class Body(Struct, frozen=True):
    """A body with addresses in every place."""

    one: EmailAddress
    maybe: EmailAddress | None = None
    change: EmailAddress | UnsetType | None = UNSET
    many: Annotated[list[EmailAddress], Meta(max_length=2)] = []


@pytest.mark.parametrize(("kind", "text", "normal"), TAKEN)
def test_a_sound_text_is_kept_in_its_normal_form(kind: type[CheckedText], text: str, normal: str) -> None:
    assert kind(text) == normal
    assert type(kind(text)) is str


@pytest.mark.parametrize(("kind", "text", "words"), REFUSED)
def test_an_unsound_text_is_told_why(kind: type[CheckedText], text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r"^must|^is|^has") as refused:
        kind(text)
    assert str(refused.value) == words


def test_what_is_read_is_plain_and_can_be_written_by_anyone() -> None:
    body = {"one": " a@b.example ", "maybe": None, "change": None, "many": ["c@d.example"]}
    read = msgspec.json.Decoder(Body, dec_hook=read_checked).decode(msgspec.json.encode(body))

    assert type(read.one) is str
    assert msgspec.json.decode(msgspec.json.encode(read)) == {**body, "one": "a@b.example"}


@pytest.mark.parametrize(
    ("value", "words"),
    [(5, "an integer"), (1.5, "a number"), (True, "true or false"), ([], "a list"), ({}, "an object"), (None, "null")],
)
def test_what_is_no_text_is_told_so(value: object, words: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"must be a string, not {words}"):
        msgspec.convert({"one": value}, Body, dec_hook=read_checked)


def test_every_kind_is_described_with_what_it_looks_like() -> None:
    kinds = {kind for kind, _, _ in (*TAKEN, *REFUSED)}

    assert all(describe_checked(kind)["type"] == "string" for kind in kinds)
    assert describe_checked(EmailAddress)["format"] == "email"
    assert describe_checked(Tag)["maxLength"] == 50


def test_a_type_that_nobody_knows_is_a_fault_of_ours() -> None:
    with pytest.raises(TypeError, match="nobody knows how to read"):
        read_checked(complex, "1")
    with pytest.raises(NotImplementedError, match="nobody knows how to describe"):
        describe_checked(complex)
