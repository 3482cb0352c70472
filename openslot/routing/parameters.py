"""Query parameters: what marks an argument as one."""

from functools import reduce
from operator import or_
from typing import Annotated, Any, get_args

from msgspec import Struct


class Query(Struct, frozen=True):
    """Marks an argument as a query parameter; bounds and description stand in its `Meta`, as those of fields do."""

    name: str | None = None
    """What it is called in an address; None: as the argument."""


def find_query(annotation: Any) -> Query | None:
    """Read the mark of an argument."""
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Query)), None)


def is_query(annotation: Any) -> bool:
    """Tell whether an argument is a query parameter."""
    return find_query(annotation) is not None


def without_null(annotation: Any) -> Any:
    """Take null off a parameter's type: in an address it is there or it is not."""
    if hasattr(annotation, "__metadata__"):
        inner, *marks = get_args(annotation)
        wrap: Any = Annotated
        return wrap[(without_null(inner), *marks)]
    if type(None) not in get_args(annotation):
        return annotation
    return reduce(or_, (each for each in get_args(annotation) if each is not type(None)))
