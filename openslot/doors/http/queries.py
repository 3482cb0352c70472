"""Query parameters, read before the handler is called: every invalid or missing one is reported at once."""

import inspect
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec

from openslot.doors.http.bodies import REQUIRED, find_unfit, in_words
from openslot.doors.http.doors import Parameter
from openslot.platform.core.text import NOT_ALLOWED, is_line, read_checked
from openslot.platform.routing import find_query


def read_query(parameters: tuple[Parameter, ...], query: bytes) -> tuple[dict[str, object], dict[str, str]]:
    """Return the values by argument, and the faults by the parameter's own name."""
    values: dict[str, object] = {}
    faults: dict[str, str] = {}
    given = _parse(query) if query else {}
    for parameter in parameters:
        texts = given.get(parameter.name)
        if texts is not None:
            try:
                values[parameter.argument] = _read(parameter, texts)
            except ValueError as fault:
                faults[parameter.name] = str(fault)
        elif parameter.is_required:
            faults[parameter.name] = REQUIRED
    return values, faults


def _read(parameter: Parameter, texts: list[str]) -> object:
    if len(texts) > 1 and not parameter.is_list:
        raise ValueError("is given more than once")
    for text in texts:
        # The decoder writes U+FFFD for bytes that are not UTF-8.
        if not is_line(text) or "\ufffd" in text:
            raise ValueError(NOT_ALLOWED)
    given = texts if parameter.is_list else texts[0]
    try:
        value: object = msgspec.convert(given, parameter.kind, strict=False, dec_hook=read_checked)
    except msgspec.ValidationError as fault:
        raise ValueError(in_words(fault, parameter.kind, given=False)) from None
    for _, unfit in find_unfit(value):
        raise ValueError(unfit)
    return value


def _parse(query: bytes) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        given.setdefault(name, []).append(value)
    return given


def read_parameters(hints: Mapping[str, Any], arguments: Mapping[str, inspect.Parameter]) -> tuple[Parameter, ...]:
    found = []
    for argument, annotation in hints.items():
        query = find_query(annotation)
        if query is not None:
            kind, default = _without_null(annotation), arguments[argument].default
            found.append(
                Parameter(
                    name=query.name or argument,
                    argument=argument,
                    kind=kind,
                    default=default,
                    is_required=default is inspect.Parameter.empty,
                    is_list=get_origin(get_args(kind)[0]) is list,
                )
            )
    return tuple(found)


def _without_null(annotation: Any) -> Any:
    """Remove null from a parameter's type: in a URL a parameter is present or absent."""
    if hasattr(annotation, "__metadata__"):
        inner, *marks = get_args(annotation)
        wrap: Any = Annotated
        return wrap[(_without_null(inner), *marks)]
    if type(None) not in get_args(annotation):
        return annotation
    return reduce(or_, (each for each in get_args(annotation) if each is not type(None)))
