"""Query parameters, checked before the handler is called: every wrong or missing one is named at once."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from msgspec import Struct

from openslot.core.errors import Invalid
from openslot.core.text import is_line
from openslot.http.doors import visit_of
from openslot.http.values import find_unfit
from openslot.http.words import in_words


class Parameter(Struct, frozen=True, kw_only=True):
    """A query parameter as its handler declares it."""

    name: str
    kind: Any
    decode: Callable[[Any, Any], Any]
    is_required: bool
    is_list: bool


async def check_parameters(request: Request[Any, Any, Any]) -> None:
    """Refuse a request whose query is wrong, or which lacks the body that its handler needs."""
    handler = request.route_handler
    parameters, needs_body = _expected(handler)
    if not parameters and not needs_body:
        return
    given = _parse(request.scope["query_string"])
    faults = {each.name: fault for each in parameters if (fault := _find_fault(each, given.get(each.name, [])))}
    if needs_body and not visit_of(request.scope).body:
        faults["body"] = "is required"
    if faults:
        raise Invalid(details=faults)


def _find_fault(parameter: Parameter, values: list[str]) -> str | None:
    if not values:
        return "is required" if parameter.is_required else None
    if len(values) > 1 and not parameter.is_list:
        return "is given more than once"
    # The decoder writes U+FFFD where the bytes were no UTF-8.
    if any(not is_line(value) or "\ufffd" in value for value in values):
        return "has characters that are not allowed"
    given = values if parameter.is_list else values[0]
    try:
        value = msgspec.convert(given, parameter.kind, strict=False, dec_hook=parameter.decode)
    except msgspec.ValidationError as fault:
        return in_words(str(fault), parameter.kind).removesuffix(", not a string")
    return next((fault for _, fault in find_unfit(value)), None)


def _parse(query: bytes) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        given.setdefault(name, []).append(value)
    return given


@lru_cache(maxsize=1024)
def _expected(handler: HTTPRouteHandler) -> tuple[tuple[Parameter, ...], bool]:
    fields = handler.parsed_fn_signature.parameters
    kinds = handler.signature_model.__annotations__
    parameters = tuple(
        Parameter(
            name=field.kwarg_definition.name or name,
            kind=kinds[name],
            decode=handler.default_deserializer,
            is_required=field.is_required,
            is_list=field.is_non_string_sequence,
        )
        for name, field in fields.items()
        if isinstance(field.kwarg_definition, QueryParameter)
    )
    return parameters, "data" in fields and fields["data"].is_required
