"""Pages of a list: what is asked for, and what is told about the whole."""

from typing import Annotated, Generic, TypeVar

from litestar.params import QueryParameter
from msgspec import Struct

T = TypeVar("T")

Page = Annotated[int, QueryParameter(ge=1, le=1_000_000, description="Which page, from 1")]
Limit = Annotated[int, QueryParameter(ge=1, le=100, description="Rows a page")]
ShortLimit = Annotated[int, QueryParameter(ge=1, le=50, description="Rows a page")]


class Pagination(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where in the whole a page stands."""

    page: int
    limit: int
    total: int
    total_pages: int


class Listing(Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list."""

    data: list[T]
    pagination: Pagination


def paginate(page: int, limit: int, total: int) -> Pagination:
    """Say how many pages there are; none when there is nothing."""
    return Pagination(page=page, limit=limit, total=total, total_pages=-(-total // limit))
