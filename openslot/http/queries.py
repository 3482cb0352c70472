"""Query parameters, read before the handler is called: every wrong or missing one is named at once."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from msgspec import Struct

from openslot.core.text import is_line
from openslot.http.values import find_unfit
from openslot.http.words import in_words


class Parameter(Struct, frozen=True, kw_only=True):
    """A query parameter as its handler declares it."""

    name: str
    argument: str
    kind: Any
    decode: Callable[[Any, Any], Any]
    is_required: bool
    is_list: bool


def read_query(parameters: tuple[Parameter, ...], query: bytes) -> tuple[dict[str, object], dict[str, str]]:
    """Read what is given, by argument, and what is wrong with it, by the parameter's own name."""
    values: dict[str, object] = {}
    faults: dict[str, str] = {}
    given = _parse(query) if parameters and query else {}
    for parameter in parameters:
        texts = given.get(parameter.name)
        if texts is not None:
            try:
                values[parameter.argument] = _read(parameter, texts)
            except ValueError as fault:
                faults[parameter.name] = str(fault)
        elif parameter.is_required:
            faults[parameter.name] = "is required"
    return values, faults


def _read(parameter: Parameter, texts: list[str]) -> object:
    if len(texts) > 1 and not parameter.is_list:
        raise ValueError("is given more than once")
    for text in texts:
        # The decoder writes U+FFFD where the bytes were no UTF-8.
        if not is_line(text) or "\ufffd" in text:
            raise ValueError("has characters that are not allowed")
    given = texts if parameter.is_list else texts[0]
    try:
        value: object = msgspec.convert(given, parameter.kind, strict=False, dec_hook=parameter.decode)
    except msgspec.ValidationError as fault:
        raise ValueError(in_words(str(fault), parameter.kind).removesuffix(", not a string")) from None
    for _, unfit in find_unfit(value):
        raise ValueError(unfit)
    return value


def _parse(query: bytes) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        given.setdefault(name, []).append(value)
    return given


def parameters_of(declared: HTTPRouteHandler) -> tuple[Parameter, ...]:
    """Read which parameters a handler declares."""
    kinds = declared.signature_model.__annotations__
    return tuple(
        Parameter(
            name=field.kwarg_definition.name or name,
            argument=name,
            kind=kinds[name],
            decode=declared.default_deserializer,
            is_required=field.is_required,
            is_list=field.is_non_string_sequence,
        )
        for name, field in declared.parsed_fn_signature.parameters.items()
        if isinstance(field.kwarg_definition, QueryParameter)
    )
