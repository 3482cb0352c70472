"""Phone numbers in E.164: a plus, the country code and the rest, at most 15 digits."""

import re
from typing import Annotated, TypeGuard

import phonenumbers
from litestar.params import QueryParameter

# A plus that nobody encoded arrives as a space.
E164 = r"^[+ ][1-9][0-9]{1,14}$"

_E164 = re.compile(E164.removesuffix("$"))
_WRITTEN = re.compile(r"[+ ] ?[0-9(][0-9 ()./\-]{1,40}", re.ASCII)


class Phone(str):
    """A phone number in a query, known to be E.164."""

    __slots__ = ()


PhoneFilter = Annotated[
    Phone | None,
    QueryParameter(
        description="One phone number, E.164",
        schema_extra={"type": "string", "one_of": None, "pattern": E164, "examples": ["+493012345678"]},
    ),
]


def parse_phone(text: str) -> str:
    """Normalise a phone number as people write it to E.164, or raise a `ValueError` that says what is wrong."""
    if not text.startswith(("+", " ")):
        raise ValueError("must begin with + and the country code, such as +493012345678")
    if not _WRITTEN.fullmatch(text):
        raise ValueError("is not a phone number")
    try:
        number = phonenumbers.parse("+" + text[1:])
    except phonenumbers.NumberParseException:
        raise ValueError("is not a phone number") from None
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    # Whether a number is in service changes faster than any list; whether its length fits does not.
    reason = phonenumbers.is_possible_number_with_reason(number)
    if reason != phonenumbers.ValidationResult.IS_POSSIBLE or not _E164.fullmatch(written):
        raise ValueError("is not a phone number of that country")
    return written


def _is_phone(kind: object) -> TypeGuard[type[Phone]]:
    return kind is Phone


def _check_phone(_: object, text: str) -> Phone:
    if not _E164.fullmatch(text):
        raise ValueError("must be an E.164 phone number: + and up to 15 digits, such as +493012345678")
    return Phone("+" + text[1:])


# For a handler's `type_decoders`: a wrong number is then named together with every other wrong parameter.
PHONES = (_is_phone, _check_phone)
