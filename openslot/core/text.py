"""Texts from outside: what a line and a longer text may hold."""

import re
from typing import Annotated

from email_validator import EmailNotValidError, validate_email
from msgspec import Meta

# Lone surrogates can't be written as UTF-8, NUL can't be stored, other control characters have no place in a text.
LINE = r"^[^\x00-\x1f\x7f\x80-\x9f\u2028\u2029\ud800-\udfff]*$"
PROSE = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]*$"

Line = Annotated[str, Meta(pattern=LINE)]
Name = Annotated[str, Meta(pattern=LINE, min_length=1, max_length=200)]
ShortLine = Annotated[str, Meta(pattern=LINE, max_length=200)]
Prose = Annotated[str, Meta(pattern=PROSE, max_length=5000)]
Reason = Annotated[str, Meta(pattern=PROSE, max_length=500)]

_LINE = re.compile(LINE)


def is_line(text: str) -> bool:
    """Tell whether a text has neither control characters nor line breaks."""
    return _LINE.match(text) is not None


def parse_email(text: str) -> str:
    """Normalise an e-mail address, or raise a `ValueError` that says what is wrong with it."""
    if len(text) > 254 or not is_line(text):
        raise ValueError("is not a valid e-mail address")
    try:
        return validate_email(text, check_deliverability=False).normalized
    except EmailNotValidError:
        raise ValueError("is not a valid e-mail address") from None
