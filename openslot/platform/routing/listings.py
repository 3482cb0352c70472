"""Lists: their query parameters, and the pages in which they are answered."""

from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

from openslot.platform.core.moments import Moment, find_span_faults
from openslot.platform.routing import Query, QueryValues

_WORDS = "ISO 8601 date or date-time, in UTC unless it has an offset"

From = Annotated[Moment | None, Meta(description=f"Earliest time: {_WORDS}"), Query("from")]
To = Annotated[
    Moment | None,
    Meta(description=f"Latest time, inclusive; a date includes the whole day. {_WORDS}"),
    Query("to"),
]


def check_span(given: QueryValues) -> dict[str, str]:
    """Return the faults of `from` and `to` together, if both are given."""
    return find_span_faults(given.values.get("from_"), given.values.get("to"))


T = TypeVar("T")

PageNumber = Annotated[int, Meta(ge=1, le=1_000_000, description="Page number, starting at 1"), Query()]
Limit = Annotated[int, Meta(ge=1, le=100, description="Results per page"), Query()]
ShortLimit = Annotated[int, Meta(ge=1, le=50, description="Results per page"), Query()]


class Pagination(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which page of the results this is."""

    page: Annotated[int, Meta(examples=[1])]
    limit: Annotated[int, Meta(examples=[20])]
    total: Annotated[int, Meta(description="Total number of results", examples=[42])]
    total_pages: Annotated[int, Meta(description="Total number of pages; 0 if there are no results", examples=[3])]


class Listing(Struct, Generic[T], frozen=True, kw_only=True):
    """One page of results."""

    data: list[T]
    pagination: Pagination


def paginate(page: int, limit: int, total: int) -> Pagination:
    """Calculate how many pages there are; none if there are no results."""
    return Pagination(page=page, limit=limit, total=total, total_pages=-(-total // limit))
