"""Forms, read into the same Structs and with the same error messages as JSON: every error is reported at its field."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import msgspec
import multipart
from msgspec import Struct

from openslot.doors.http.bodies import REQUIRED, find_faults, find_unfit
from openslot.doors.http.doors import Exchange
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import read_checked
from openslot.platform.i18n import Text
from openslot.platform.routing import File, Form, WhenEmpty

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
FORMS = (URLENCODED, MULTIPART)
MAX_FIELDS = 500
UNREADABLE = Text("This form could not be read. Go back, reload the page and send it again")
CHECKED = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}

Fields = dict[str, list[str | File]]
T = TypeVar("T", bound=Struct)


def read_form(exchange: Exchange, kind: type[Struct]) -> Form[Any]:
    """Read a form for a page that shows it again with its faults; refuse a body that is not a form."""
    return _read(parse_fields(exchange), kind)


def read_values(values: Mapping[str, str], kind: type[T]) -> Form[T]:
    """Read a form again from what was typed, some of which may have been changed since."""
    return _read({name: [text] for name, text in values.items()}, kind)


def read_form_strictly(exchange: Exchange, kind: type[Struct]) -> Any:
    """Read a form, or refuse it with every fault."""
    form = read_form(exchange, kind)
    if form.sent is None:
        raise Invalid(details=dict(form.faults))
    return form.sent


def _read(fields: Fields, kind: type[Struct]) -> Form[Any]:
    values = {name: texts[0] for name, texts in fields.items() if isinstance(texts[0], str)}
    tree = _tree(fields, kind)
    try:
        sent = msgspec.convert(tree, kind, strict=False, dec_hook=read_checked)
    except msgspec.ValidationError:
        return Form(values=values, faults=_faults(tree, kind), kind=kind)
    unfit = dict(find_unfit(sent))
    return Form(values=values, faults=unfit, sent=None if unfit else sent, kind=kind)


def parse_fields(exchange: Exchange) -> Fields:
    """Decode a form's fields, keeping the order of values; every kind of line break becomes one character."""
    fields: Fields = {}
    try:
        for name, value in _parts(exchange):
            fields.setdefault(name, []).append(value.replace("\r\n", "\n") if isinstance(value, str) else value)
    except ValueError:
        raise Invalid(UNREADABLE) from None
    return fields


def _parts(exchange: Exchange) -> Iterator[tuple[str, str | File]]:
    if not exchange.body:
        return iter(())
    if exchange.media_type == MULTIPART:
        return _parse_multipart(exchange.body, exchange.headers["content-type"])
    text = exchange.body.decode()
    return iter(
        parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MAX_FIELDS)
    )


def _parse_multipart(body: bytes, content_type: str) -> Iterator[tuple[str, str | File]]:
    _, options = multipart.parse_options_header(content_type)
    with multipart.PushMultipartParser(
        options.get("boundary", ""), max_segment_count=MAX_FIELDS, strict=True
    ) as parser:
        segment, payload = None, bytearray()
        for event in parser.parse(body):
            if isinstance(event, multipart.MultipartSegment):
                segment, payload = event, bytearray()
            elif event:
                payload += event
            elif segment is not None:
                yield segment.name or "", _part(segment, bytes(payload))


def _part(segment: Any, payload: bytes) -> str | File:
    if segment.filename is None:
        return payload.decode()
    return File(name=segment.filename, media_type=segment.content_type or "application/octet-stream", body=payload)


def _tree(fields: Fields, kind: type[Struct], path: str = "") -> dict[str, object]:
    """Arrange fields as the Struct has them: `a.b` is inside a group, `a.0.b` inside the first of several."""
    tree: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        name = f"{path}{field.encode_name}"
        value = _value(fields, name, _plain(field.type))
        if value is not None:
            tree[field.encode_name] = value
    return tree


def _value(fields: Fields, name: str, kind: Any) -> object:
    given = fields.get(name, [])
    if _is_group(kind):
        return _tree(fields, kind, f"{name}.") if any(each.startswith(f"{name}.") for each in fields) else None
    if get_origin(kind) in {list, tuple, set, frozenset}:
        return _values(fields, name, _plain(get_args(kind)[0]))
    if kind is bool:
        # A browser does not send an unchecked box at all.
        return CHECKED.get(str(given[-1]).lower(), given[-1]) if given else False
    if len(given) > 1:
        raise Invalid(UNREADABLE)
    return next((each for each in given if not _is_blank(each)), None)


def _values(fields: Fields, name: str, kind: Any) -> object:
    if not _is_group(kind):
        return [each for each in fields.get(name, []) if not _is_blank(each)]
    begins = f"{name}."
    names = {each.removeprefix(begins).partition(".")[0] for each in fields if each.startswith(begins)}
    numbers = sorted(int(each) for each in names if each.isascii() and each.isdecimal() and len(each) < 4)
    return [_tree(fields, kind, f"{begins}{number}.") for number in numbers]


def _is_blank(value: str | File) -> bool:
    # A browser sends an empty text for a field left empty, and a file without a name if none was chosen.
    return not value.strip() if isinstance(value, str) else not value.name and not value.body


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct) and kind is not File


def _plain(kind: Any) -> Any:
    """Remove annotations, null and unset from a type."""
    if hasattr(kind, "__metadata__"):
        return _plain(get_args(kind)[0])
    members = [each for each in get_args(kind) if each not in {type(None), msgspec.UnsetType}]
    is_union = get_origin(kind) not in {None, list, tuple, set, frozenset, dict} and len(members) == 1
    return _plain(members[0]) if is_union else kind


def _faults(tree: dict[str, object], kind: type[Struct]) -> dict[str, str]:
    faults = dict(find_faults(tree, kind, strict=False))
    for name, annotation in _when_empty(kind).items():
        if faults.get(name) == REQUIRED:
            faults[name] = annotation
    return faults


def _when_empty(kind: type[Struct]) -> dict[str, str]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.encode_name: mark.words
        for field in msgspec.structs.fields(kind)
        for mark in getattr(hints[field.name], "__metadata__", ())
        if isinstance(mark, WhenEmpty)
    }
