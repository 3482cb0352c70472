"""Pages of a list: what is asked for, and what is told about the whole."""

from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

from openslot.routing.parameters import Query

T = TypeVar("T")

Page = Annotated[int, Meta(ge=1, le=1_000_000, description="Which page, from 1"), Query()]
Limit = Annotated[int, Meta(ge=1, le=100, description="Rows a page"), Query()]
ShortLimit = Annotated[int, Meta(ge=1, le=50, description="Rows a page"), Query()]


class Pagination(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where in the whole a page stands."""

    page: Annotated[int, Meta(examples=[1])]
    limit: Annotated[int, Meta(examples=[20])]
    total: Annotated[int, Meta(description="Rows in all", examples=[42])]
    total_pages: Annotated[int, Meta(description="0 where there is nothing", examples=[3])]


class Listing(Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list."""

    data: list[T]
    pagination: Pagination


def paginate(page: int, limit: int, total: int) -> Pagination:
    """Say how many pages there are; none when there is nothing."""
    return Pagination(page=page, limit=limit, total=total, total_pages=-(-total // limit))
