"""Texts from outside: their characters, addresses, phone numbers and links; and cells that a spreadsheet can open."""

import re
import unicodedata
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self, cast
from urllib.parse import urlsplit

from email_validator import EmailNotValidError, validate_email
from msgspec import Meta

from openslot.platform.i18n import PluralText, Text

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


class _PlainAtRunTime(type):
    # The decoder checks that the result is an instance of the declared type. A plain string can be stored, compared and
    # encoded everywhere; a subclass of it can't.
    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is str


def fold_ascii(text: str) -> str:
    """Make the letters A to Z small, about which nobody disagrees; all else stays as it is.

    Two addresses that are the same afterwards are one mailbox; that of `İa@…` may be another than that of `ia@…`.
    """
    return text.translate(_LOWER)


class CheckedText(str, metaclass=_PlainAtRunTime):
    """A text of a certain kind; at run time a plain string that has passed `parse`."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {"type": "string"}
    """The JSON Schema in the API's description."""

    def __new__(cls, text: str) -> Self:
        """Check a text and return its normal form, or raise a `ValueError` that says what is wrong with it."""
        return cast("Self", cls.parse(text))

    @classmethod
    def parse(cls, text: str) -> str:
        """Return the normal form, or raise a `ValueError` whose message is shown as the field's error."""
        raise NotImplementedError


def read_checked(kind: type, value: object) -> object:
    """Read a value of a type that the decoder does not support by itself."""
    if not issubclass(kind, CheckedText):
        raise TypeError(f"nobody knows how to read {kind}")
    if type(value) is not str:
        raise ValueError(Text("must be a string, not %(given)s", given=_NAMES.get(type(value), _NAMES[dict])))
    return kind.parse(value)


def describe_checked(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a type that msgspec can't describe by itself."""
    if not issubclass(kind, CheckedText):
        raise NotImplementedError(f"nobody knows how to describe {kind}")
    return dict(kind.schema)


_NAMES: dict[type, str] = {
    int: Text("an integer"),
    float: Text("a number"),
    bool: Text("true or false"),
    list: Text("a list"),
    dict: Text("an object"),
    type(None): Text("null"),
}


# Lone surrogates can't be encoded as UTF-8, NUL can't be stored, and other control characters do not belong in a text.
# A bare `$` would allow a line break at the very end; JSON Schema has no `\Z`.
END = r"$(?!\n)"
LINE = rf"^[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]*{END}"
PROSE = rf"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]*{END}"

Line = Annotated[str, Meta(pattern=LINE)]
ShortLine = Annotated[str, Meta(pattern=LINE, max_length=200)]
Prose = Annotated[str, Meta(pattern=PROSE, max_length=5000)]
ReasonText = Annotated[str, Meta(pattern=PROSE, max_length=500)]

PROSE_SHAPE = re.compile(PROSE)
NOT_AN_ADDRESS = Text("is not a valid email address")
NOT_ALLOWED = Text("has characters that are not allowed")
EMPTY = Text("must not be empty")
INVISIBLE = Text("must contain visible characters")
NOT_A_LANGUAGE = Text("must be a language tag such as de or pt-BR")

# Marks that turn the direction of what follows, beyond the text that contains them.
DIRECTION_MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_WITHOUT_DIRECTION_MARKS = str.maketrans("", "", DIRECTION_MARKS)
# Characters without ink: controls, spaces, marks that need a letter before them, and letters that are blank.
_INKLESS = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"})
_BLANK = re.compile("[\u115f\u1160\u2065\u2800\u3164\uffa0\ufff0-\ufff8\U0001d159\U000e0000-\U000e0fff]")
_LINE = re.compile(LINE)
# Where programs recognise a link: behind a scheme's colon, behind a dot before a domain's last part, behind an `@`.
WORD_JOINER = "\u2060"
_LINK_POSITIONS = re.compile(
    rf"(?<=:)(?=//)|(?<=[^\W\d_]:)(?=[^\s{WORD_JOINER}])|(?<=\S[.\u3002\uff0e\uff61])(?=[^\W\d_]\w)|(?<=\S@)(?=\w)"
)
_PLAIN_ADDRESS = re.compile(r"[^\s@<>/:\\]+@[^\s@<>/:\\]+")
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")


def is_line(text: str) -> bool:
    """Return whether a text has neither control characters nor line breaks."""
    return _LINE.match(text) is not None


def is_prose(text: str) -> bool:
    """Return whether a text has no control characters except tabs and line breaks."""
    return PROSE_SHAPE.match(text) is not None


def is_visible(text: str) -> bool:
    return any(unicodedata.category(each) not in _INKLESS and not _BLANK.match(each) for each in text)


def without_direction_marks(text: str) -> str:
    """Take out the marks that would turn the direction of the words beside the text."""
    return text.translate(_WITHOUT_DIRECTION_MARKS)


def defuse(name: str) -> str:
    """Write a name so that no program makes a link of it: an invisible joiner stands where it would recognise one.

    People read it as it was entered. A name that is an email address and nothing else stays as it is.
    """
    return name if _PLAIN_ADDRESS.fullmatch(name) else _LINK_POSITIONS.sub(WORD_JOINER, name)


def at_most_characters(count: int) -> Text:
    return PluralText("must have at most %(count)s character", "must have at most %(count)s characters", count=count)


# An address is parsed when it is checked and again when it is used; parsing its domain is expensive.
# benchmarks/caches.py: check a new address three times, as a booking does, 2.9 times
@lru_cache(maxsize=1000)
def parse_email(text: str) -> str:
    """Normalise an email address, or raise a `ValueError` that says what is wrong with it."""
    if len(text) > 254 or not is_line(text):
        raise ValueError(NOT_AN_ADDRESS)
    try:
        return validate_email(text, check_deliverability=False).normalized
    except EmailNotValidError:
        raise ValueError(NOT_AN_ADDRESS) from None


class Label(CheckedText):
    """A line that says something: spaces at its ends are taken off, and something of it can be seen."""

    __slots__ = ()

    longest: ClassVar[int] = 200
    schema: ClassVar[dict[str, object]] = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": LINE}

    @classmethod
    def parse(cls, text: str) -> str:
        given = text.strip(" ")
        if not is_line(given):
            raise ValueError(NOT_ALLOWED)
        if not given.strip():
            raise ValueError(EMPTY)
        if not is_visible(given):
            raise ValueError(INVISIBLE)
        if len(given) > cls.longest:
            raise ValueError(at_most_characters(cls.longest))
        return given


class Name(Label):
    __slots__ = ()


class LanguageTag(CheckedText):
    """A language as browsers name it, with or without a region."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {
        "type": "string",
        "pattern": "^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,4}$",
        "examples": ["de", "pt-BR"],
    }

    @classmethod
    def parse(cls, text: str) -> str:
        """Strip spaces from both ends; whether mail is available in that language is not checked."""
        given = text.strip()
        if _LANGUAGE_TAG.fullmatch(given) is None:
            raise ValueError(NOT_A_LANGUAGE)
        return given.replace("_", "-")


class EmailAddress(CheckedText):
    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {
        "type": "string",
        "format": "email",
        "maxLength": 254,
        "examples": ["jonas@okafor.example"],
    }

    @classmethod
    def parse(cls, text: str) -> str:
        """Strip spaces from both ends, and return the normal form."""
        given = text.strip()
        normal = parse_email(given)
        # The owner's letter case is kept; any other variation would hide that two addresses are the same.
        return given if fold_ascii(given) == fold_ascii(normal) else normal


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


LONGEST_LINE = 200
LONGEST_NAME = 60
# Control characters, surrogates, line and paragraph separators.
BREAKS = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Text that a mail program would show as a link, or that does not look like a name.
LINK_LIKE = re.compile(r"[/:@<>\\]|www\.|\w\.\w{2,}", re.IGNORECASE)


def one_line(text: str, *, max_: int = LONGEST_LINE) -> str:
    """Write a text on one line of at most so many characters, without anything that a header must not have."""
    # A longer text is cut first, so that a megabyte is not scanned.
    kept = text[: max_ * 4]
    # Most texts are plain, and looking at each character is slow.
    if not (kept.isascii() and kept.isprintable()):
        kept = "".join(" " if unicodedata.category(each) in BREAKS else each for each in without_direction_marks(kept))
    line = " ".join(kept.split())
    return line if len(line) <= max_ else line[: max_ - 1].rstrip() + "…"


def paragraph(text: str, *, max_: int = 5000) -> str:
    """Keep the line breaks of a text, and remove all other invisible characters."""
    lines = text[: max_ * 2].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(one_line(line, max_=max_) for line in lines)[:max_].strip()


def find_name(text: str) -> str | None:
    """Read a name that somebody entered; None if it looks like an advertisement.

    Anyone who books enters a name and other people's addresses; their text must not be sent in our name.
    """
    name = one_line(text, max_=LONGEST_NAME + 1)
    return None if not name or len(name) > LONGEST_NAME or LINK_LIKE.search(name) else name


# How the characters of scripts are called that write words without spaces, or endings at the end of a name.
_UNSPACED = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "KHMER", "LAO", "MYANMAR", "THAI")


def mentions(text: str, name: str) -> bool:
    """Return whether a text has a name as whole words: "Already" does not mention Al."""
    text, name = (unicodedata.normalize("NFC", each) for each in (text, name))
    for found in re.finditer(f"(?={re.escape(name)})", text):
        before, after = text[: found.start()][-1:], text[found.start() + len(name) :][:1]
        if not (_is_one_word(before, name[:1]) or _is_one_word(after, name[-1:])):
            return True
    return False


def _is_one_word(neighbour: str, edge: str) -> bool:
    is_spaced = not unicodedata.name(edge, "").startswith(_UNSPACED)
    return is_spaced and all(each == "_" or unicodedata.category(each)[0] in "LMN" for each in (neighbour or " ", edge))


# A spreadsheet takes a cell that begins with one of these for a formula.
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
FORMULAS = (*SIGNS, "\t", "\r", "\n")
# Excel separates by semicolons in many countries, and LibreOffice by tabs too. For them our commas and quotation marks
# are ordinary characters, so that a cell begins behind each of these as well, even with an empty pair of marks.
SEPARATORS = "[;\t\r\n]"
SPACES = " \u00a0"
_INNER = re.compile(f'(?<={SEPARATORS})(?=[{SPACES}"]*[{re.escape(SIGNS)}])')


def make_safe(cell: str) -> str:
    """Keep a spreadsheet from taking a cell, or a part of it, for a formula."""
    guarded = _INNER.sub("'", cell)
    return f"'{guarded}" if cell.lstrip(SPACES).startswith(FORMULAS) else guarded


LONGEST = 2048
NOT_A_URL = Text("must be a link that begins with https:// or http://")

_SHAPE = re.compile(r"https?://[^\s/?#]+(?:[/?#]\S*)?", re.ASCII | re.IGNORECASE)


def find_setting_fault(text: str, *, has_query: bool = False, has_path: bool = False) -> str | None:
    """Return what is wrong with a web address that an operator has set, without repeating it; None if nothing is."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return "it is not a valid URL"
    is_web = text.lower().startswith(("http://", "https://"))
    extras = "a fragment (#)" if has_query else "a query (?) or a fragment (#)"
    faults = (
        (not text.isprintable() or " " in text or "\\" in text, "it must not contain spaces or backslashes"),
        (not is_web, "it must begin with http:// or https://"),
        (not url.hostname or port == 0, "it must have a host name and, if any, a port from 1 to 65535"),
        ("@" in url.netloc, "it must not contain a user name or a password"),
        ("#" in text or ("?" in text and not has_query), f"it must not contain {extras}"),
        (url.path.strip("/") and not has_path, "it must not contain a path; Openslot needs a host name of its own"),
    )
    return next((fault for is_wrong, fault in faults if is_wrong), None)


def is_web_url(text: str) -> bool:
    return len(text) <= LONGEST and text.isprintable() and _SHAPE.fullmatch(text) is not None
