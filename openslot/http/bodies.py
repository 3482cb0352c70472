"""JSON bodies, read strictly: every invalid field is reported at once, in plain words."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct

from openslot.core.errors import Invalid
from openslot.core.text import read_checked
from openslot.http.values import REQUIRED, UNKNOWN, Fault, find_unfit, in_words, join, shown

DEEPEST = 64
MAX_FAULTS = 100
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# Possessive, and closed or not, so that a body of quotes and backslashes is not scanned again from each of them.
TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


def decode(body: bytes, kind: Any) -> Any:
    """Decode JSON into a type, or refuse it with every fault."""
    check_depth(body)
    fault = None
    try:
        value = _decoder(kind).decode(body)
    except msgspec.ValidationError as found:
        fault = found
    except UNREADABLE:
        raise _not_json() from None
    if fault is None and next(find_unfit(value), None) is None:
        return value
    raise Invalid(details=_details(body, kind, fault))


def check_depth(body: bytes) -> None:
    """Refuse JSON that is nested deeper than any valid body; most bodies are too small to need counting."""
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return
    depth = 0
    for token in TOKENS.finditer(body):
        depth += STEPS.get(token[0], 0)
        if depth > DEEPEST:
            raise _not_json(f"is nested deeper than {DEEPEST}")


def find_faults(value: object, kind: Any, path: str = "", *, strict: bool = True) -> Iterator[Fault]:
    """Convert part by part and yield every fault with its dotted path; if not strict, texts may stand for numbers."""
    try:
        yield from find_unfit(msgspec.convert(value, kind, strict=strict, dec_hook=read_checked), path)
    except msgspec.ValidationError as fault:
        inside = False
        for found in _faults_inside(value, kind, path, strict=strict):
            inside = True
            yield found
        if not inside:
            yield path or "body", in_words(fault, kind, given=strict)


def _faults_inside(value: object, kind: Any, path: str, *, strict: bool) -> Iterator[Fault]:
    whole = _container(kind, value)
    if isinstance(value, dict) and isinstance(whole, type) and issubclass(whole, Struct):
        yield from _faults_of_fields(value, whole, path, strict=strict)
    elif isinstance(value, dict) and get_origin(whole) is dict:
        for key, inner in value.items():
            yield from find_faults(inner, get_args(whole)[1], join(path, shown(key)), strict=strict)
    elif isinstance(value, list) and _is_list(whole):
        for place, inner in enumerate(value):
            yield from find_faults(inner, get_args(whole)[0], join(path, str(place)), strict=strict)


def _faults_of_fields(value: dict[str, object], struct: type[Struct], path: str, *, strict: bool) -> Iterator[Fault]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for name, field in fields.items():
        if name in value:
            yield from find_faults(value[name], field.type, join(path, name), strict=strict)
        elif field.default is NODEFAULT and field.default_factory is NODEFAULT:
            yield join(path, name), REQUIRED
    if struct.__struct_config__.forbid_unknown_fields:
        yield from ((join(path, shown(name)), UNKNOWN) for name in value if name not in fields)


def _container(kind: Any, value: object) -> Any:
    """Remove annotations, and reduce a union to the one member that this value can be meant for."""
    if hasattr(kind, "__metadata__"):
        return _container(get_args(kind)[0], value)
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    members = [_container(member, value) for member in get_args(kind)]
    fitting = [member for member in members if _is_for(member, value)]
    return fitting[0] if len(fitting) == 1 else None


def _is_list(kind: Any) -> bool:
    origin = get_origin(kind)
    return origin in {list, set, frozenset} or (origin is tuple and get_args(kind)[-1] is Ellipsis)


def _is_for(kind: Any, value: object) -> bool:
    is_object = get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, Struct))
    return is_object if isinstance(value, dict) else isinstance(value, list) and get_origin(kind) is not None


def _details(body: bytes, kind: Any, fault: msgspec.ValidationError | None) -> dict[str, str]:
    try:
        details = dict(islice(find_faults(msgspec.json.decode(body), kind), MAX_FAULTS))
    except msgspec.ValidationError as found:
        # A number that no type can hold: only the first decoding tells where it is.
        details = {_place(fault or found): in_words(fault or found)}
    except UNREADABLE:
        raise _not_json() from None
    # If a name is given twice, only its last value is read: a fault in the first one is found nowhere else.
    return details or {_place(fault): in_words(fault)}


def _place(fault: msgspec.ValidationError | None) -> str:
    path = str(fault).rpartition(" - at `$")[2].rstrip("`") if " - at `$" in str(fault) else ""
    return path.replace("[", ".").replace("]", "").strip(".") or "body"


def _not_json(fault: str = "is not valid JSON") -> Invalid:
    return Invalid("The body is not valid JSON", details={"body": fault})


@lru_cache(maxsize=512)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=read_checked)
