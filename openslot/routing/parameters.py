"""Query parameters: the marker that turns an argument into one."""

from functools import reduce
from operator import or_
from typing import Annotated, Any, get_args

from msgspec import Struct


class Query(Struct, frozen=True):
    """Marks an argument as a query parameter; bounds and description are in its `Meta`, as for fields."""

    name: str | None = None
    """The name in a URL; None if it is that of the argument."""


def find_query(annotation: Any) -> Query | None:
    """Return the marker of an argument."""
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Query)), None)


def is_query(annotation: Any) -> bool:
    """Return whether an argument is a query parameter."""
    return find_query(annotation) is not None


def without_null(annotation: Any) -> Any:
    """Remove null from a parameter's type: in a URL a parameter is present or absent."""
    if hasattr(annotation, "__metadata__"):
        inner, *marks = get_args(annotation)
        wrap: Any = Annotated
        return wrap[(without_null(inner), *marks)]
    if type(None) not in get_args(annotation):
        return annotation
    return reduce(or_, (each for each in get_args(annotation) if each is not type(None)))
