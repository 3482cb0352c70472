"""Phone numbers in E.164: a plus, the country code and the rest, at most 15 digits."""

import re
from typing import ClassVar

from openslot.core.text import CheckedText
from openslot.i18n import Text

# A plus sign that was not URL-encoded arrives as a space.
E164 = r"^[+ ][1-9][0-9]{1,14}$"

_E164 = re.compile(E164.removesuffix("$"))
_WRITTEN = re.compile(r"[+ ] ?[0-9(][0-9 ()./\-]{1,40}", re.ASCII)


class PhoneFilter(CheckedText):
    """A phone number to look for, E.164; nothing else could be found."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {"type": "string", "pattern": E164, "examples": ["+493012345678"]}

    @classmethod
    def parse(cls, text: str) -> str:
        """Accept only a number that is already E.164."""
        if not _E164.fullmatch(text):
            raise ValueError("must be an E.164 phone number: + and up to 15 digits, such as +493012345678")
        return "+" + text[1:]


def parse_phone(text: str) -> str:
    """Normalise a phone number as people write it to E.164, or raise a `ValueError` that says what is wrong."""
    # Loaded with the first number: few processes ever see one, and every start would wait for the library.
    import phonenumbers  # noqa: PLC0415

    if not text.startswith(("+", " ")):
        raise ValueError(Text("must begin with + and the country code, such as +493012345678"))
    if not _WRITTEN.fullmatch(text):
        raise ValueError(Text("is not a phone number"))
    try:
        number = phonenumbers.parse("+" + text[1:])
    except phonenumbers.NumberParseException:
        raise ValueError(Text("is not a phone number")) from None
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    # Whether a number is in service changes faster than any list; whether its length is valid does not.
    reason = phonenumbers.is_possible_number_with_reason(number)
    if reason != phonenumbers.ValidationResult.IS_POSSIBLE or not _E164.fullmatch(written):
        raise ValueError(Text("is not a phone number of that country"))
    return written


class Phone(CheckedText):
    """A phone number as people write it, with the country code."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {"type": "string", "maxLength": 50, "examples": ["+49 30 12345678"]}

    @classmethod
    def parse(cls, text: str) -> str:
        return parse_phone(text.strip())
