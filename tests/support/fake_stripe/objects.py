"""Stripe's objects on the wire, with every field that the library's own classes have."""

import typing
from functools import cache
from typing import Any, ClassVar, get_args, get_origin

from stripe import StripeObject

# Fields that are only there when they are asked for, or at one moment.
ON_DEMAND = frozenset({"deleted", "line_items", "refunds", "secret", "lines"})
PLAIN: dict[Any, Any] = {bool: False, int: 0, str: "", float: 0.0}


def make(kind: Any, **fields: Any) -> dict[str, Any]:
    """Make an object: what may be missing is null, the rest has the emptiest value of its type, or is given."""
    made = {name: default for name, default in _defaults(kind).items() if name not in fields}
    unknown = fields.keys() - _types_of(kind).keys()
    if unknown:
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    needed = _types_of(kind).keys() - made.keys() - fields.keys() - ON_DEMAND - {"object"}
    if needed:
        raise TypeError(f"{kind.__name__} needs {', '.join(sorted(needed))}")
    name = getattr(kind, "OBJECT_NAME", None)
    return {**({"object": name} if name else {}), **_fresh(made), **fields}


def make_list(url: str, data: list[Any], *, has_more: bool = False) -> dict[str, Any]:
    return {"object": "list", "data": data, "has_more": has_more, "url": url}


@cache
def _types_of(kind: Any) -> dict[str, Any]:
    return {name: type_ for name, type_ in kind.__annotations__.items() if get_origin(type_) is not ClassVar}


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    found = {name: _default(type_) for name, type_ in _types_of(kind).items() if name not in ON_DEMAND | {"object"}}
    return {name: value for name, value in found.items() if value is not ...}


def _default(type_: Any) -> Any:
    """Return the emptiest value of a type; an ellipsis if only the caller knows."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is typing.Union and type(None) in arguments:
        return None
    if origin is list:
        return []
    if origin is dict or "UntypedStripeObject" in str(type_):
        return {}
    if isinstance(type_, type) and issubclass(type_, StripeObject):
        kind: Any = type_
        inner = _defaults(kind)
        return dict(inner) if inner.keys() == _types_of(kind).keys() - ON_DEMAND - {"object"} else ...
    return PLAIN.get(type_, ...)


def _fresh(value: Any) -> Any:
    """Copy what two objects must not share."""
    if isinstance(value, dict):
        return {name: _fresh(each) for name, each in value.items()}
    return list(value) if isinstance(value, list) else value
