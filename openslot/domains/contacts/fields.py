"""Fields of contacts: declared once, at the noun, and taken from there by every API, form, file and tool."""

import csv
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Annotated, Any, ClassVar, get_args

from msgspec import Meta, Struct
from msgspec.structs import fields, replace

from openslot.platform.core.text import (
    NOT_ALLOWED,
    CheckedText,
    Label,
    Phone,
    Prose,
    ShortLine,
    at_most_characters,
    is_line,
    is_prose,
    parse_phone,
)
from openslot.platform.i18n import PluralText, Text

MAX_TAGS, LONGEST_LINE, LONGEST_PROSE = 20, 200, 5000


class PhoneOrNone(Phone):
    """A phone number; an empty text clears it as null does."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> str:
        return super().parse(text) if text.strip() else ""


class Tag(Label):
    """A word that contacts are sorted by."""

    __slots__ = ()

    longest: ClassVar[int] = 50
    schema: ClassVar[dict[str, object]] = {**Label.schema, "maxLength": longest}


class TypedTags(CheckedText):
    """Tags that are separated by commas, as they were typed."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> str:
        read_tags(text)
        return text


class FieldKind(Struct, frozen=True, kw_only=True, eq=False):
    """What the values of a field are like."""

    wanted: Any
    """The type of what is sent to the API."""
    shown: Any
    """The type of what the API shows."""
    typed: Any
    """The type of what is typed into a form."""
    longest: int
    """The most characters that can be typed."""
    input: str = "text"
    """The kind of field in a form: `text`, `tel` or `textarea`."""
    most: int | None = None
    """The most values that a list can have."""
    keep: Callable[[Any], object]
    """Normalize what was sent."""
    read: Callable[[str], object]
    """Read the text of a file's cell or a form's field, or raise a `ValueError` that says what is wrong with it."""
    write: Callable[[Any], str] = lambda value: value or ""
    """Write the value into a cell of a file or a form."""

    @property
    def empty(self) -> object:
        return self.keep(None)


class ContactField(Struct, frozen=True, kw_only=True):
    """A field of contacts, and where else than with the contact it is shown."""

    kind: FieldKind
    label: Text
    hint: str = ""
    """The text below it in a form."""
    example: object
    shown_example: object = None
    description: str | None = None
    shown_description: str | None = None
    in_bookings: bool = False
    """Whether bookings show it of their contact."""
    crm_property: str | None = None
    """The property that HubSpot has for it, empty if hosts choose one; None keeps it from CRMs."""
    other_names: str = ""
    """The names that other programs use in their files, folded and without spaces and punctuation."""
    name: str = ""
    """The noun's, which `list_fields` fills in."""

    @property
    def wanted(self) -> Any:
        meta = Meta(description=self.description, examples=[self.example], max_length=self.kind.most)
        return Annotated[self.kind.wanted, meta]

    @property
    def shown(self) -> Any:
        example = self.example if self.shown_example is None else self.shown_example
        return Annotated[self.kind.shown, Meta(description=self.shown_description, examples=[example])]


def list_fields(noun: type[Struct]) -> tuple[ContactField, ...]:
    """List the fields of a noun that are declared by a `ContactField`, in its order."""
    return tuple(_find_fields(noun))


def _find_fields(noun: type[Struct]) -> Iterator[ContactField]:
    for each in fields(noun):
        for declared in get_args(each.type)[1:]:
            if isinstance(declared, ContactField):
                yield replace(declared, name=each.name)


def find_phone(text: str | None) -> str | None:
    """Read a phone number that someone else has entered; None if it is not valid."""
    try:
        return _keep_phone(text)
    except ValueError:
        return None


def read_tags(text: str) -> tuple[Tag, ...]:
    """Read tags that are separated by commas, or raise a `ValueError` that says what is wrong with them."""
    try:
        cells = next(csv.reader([text.replace("\n", ",")], skipinitialspace=True, strict=True))
    except csv.Error:
        raise ValueError(NOT_ALLOWED) from None
    tags = tuple(dict.fromkeys(Tag(cell) for cell in cells if cell.strip()))
    if len(tags) > MAX_TAGS:
        raise ValueError(
            PluralText("must have at most %(count)s tag", "must have at most %(count)s tags", count=MAX_TAGS)
        )
    return tags


def write_tags(tags: tuple[str, ...]) -> str:
    """Write tags into one cell, separated by commas; one that has a comma is put in quotation marks."""
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(tags)
    return text.getvalue()


def _keep_phone(text: str | None) -> str | None:
    given = (text or "").strip()
    return parse_phone(given) if given else None


def _read_phone(text: str) -> str:
    given = text.strip()
    return PhoneOrNone.parse(f"+{given[2:]}" if given.startswith("00") else given)


def _keep_line(text: str | None) -> str | None:
    return (text or "").strip() or None


def _read_line(text: str) -> str:
    if not is_line(text.strip()):
        raise ValueError(NOT_ALLOWED)
    return _check_length(text.strip(), LONGEST_LINE)


def _keep_prose(text: str | None) -> str | None:
    return text if text and text.strip() else None


def _read_prose(text: str) -> str:
    if not is_prose(text):
        raise ValueError(NOT_ALLOWED)
    return _check_length(text, LONGEST_PROSE)


def _keep_tags(tags: tuple[str, ...] | None) -> tuple[str, ...]:
    trimmed = tuple(dict.fromkeys(tag.strip() for tag in tags or ()))
    if not all(trimmed):
        raise ValueError("must not have an empty entry")
    return trimmed


def _check_length(text: str, longest: int) -> str:
    if len(text) > longest:
        raise ValueError(at_most_characters(longest))
    return text


PHONE = FieldKind(
    wanted=PhoneOrNone,
    shown=str | None,
    typed=PhoneOrNone,
    longest=50,
    input="tel",
    keep=_keep_phone,
    read=_read_phone,
)
LINE = FieldKind(
    wanted=ShortLine, shown=str | None, typed=ShortLine, longest=LONGEST_LINE, keep=_keep_line, read=_read_line
)
PROSE = FieldKind(
    wanted=Prose,
    shown=str | None,
    typed=Prose,
    longest=LONGEST_PROSE,
    input="textarea",
    keep=_keep_prose,
    read=_read_prose,
)
TAGS = FieldKind(
    wanted=tuple[Tag, ...],
    shown=tuple[str, ...],
    typed=TypedTags,
    longest=1200,
    most=MAX_TAGS,
    keep=_keep_tags,
    read=read_tags,
    write=write_tags,
)
