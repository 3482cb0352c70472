"""SCIM: users, and what the service reports about itself."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.doors.scim import operations, resources
from openslot.doors.scim.attributes import (
    Document,
    describe_resource_types,
    describe_schemas,
    describe_service,
    list_all,
)
from openslot.doors.scim.door import PREFIX, SCIM
from openslot.doors.scim.errors import NotSupported
from openslot.platform.core.db import Row
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, Request, Response, delete, get, patch, post, put

Attributes = Annotated[str | None, Meta(max_length=4000), Query("attributes")]
Excluded = Annotated[str | None, Meta(max_length=4000), Query("excludedAttributes")]
JsonBody = dict[str, Any]


class SearchBody(Struct, frozen=True, kw_only=True, rename="camel"):
    """A query that is sent as a body."""

    filter: str | None = None
    start_index: int = 1
    count: int = 100
    attributes: list[str] | None = None
    excluded_attributes: list[str] | None = None


@get("/Users")
async def list_users(
    *,
    work: Work,
    filter_: Annotated[str | None, Query("filter")] = None,
    start: Annotated[int, Query("startIndex")] = 1,
    count: Annotated[int, Query("count")] = 100,
    attributes: Attributes = None,
    excluded: Excluded = None,
) -> Response:
    """List the organization's users."""
    projection = resources.read_projection(attributes, excluded)
    return await _list(work, filter_=filter_, start=start, count=count, projection=projection)


@post("/Users/.search", transaction="none")
async def search_users(work: Work, data: SearchBody) -> Response:
    """List the organization's users by a query in the body."""
    projection = resources.read_projection(
        resources.join_names(data.attributes), resources.join_names(data.excluded_attributes)
    )
    return await _list(work, filter_=data.filter, start=data.start_index, count=data.count, projection=projection)


@post("/Users", status=201)
async def create_user(work: Work, data: JsonBody, attributes: Attributes = None, excluded: Excluded = None) -> Response:
    """Create a user, or link the account that has the address."""
    projection = resources.read_projection(attributes, excluded)
    return _show(work, await operations.create_user(work, data), projection, status=201)


@get("/Users/{user_id}")
async def get_user(
    work: Work, request: Request, user_id: UUID, attributes: Attributes = None, excluded: Excluded = None
) -> Response:
    """Get a user; 304 if unchanged."""
    projection = resources.read_projection(attributes, excluded)
    row = await operations.get_scim_user(work, user_id)
    known = request.headers.get("if-none-match")
    if known is not None and resources.is_named(row["version"], known):
        return Response(status=304, headers={"etag": resources.etag(row["version"])})
    return _show(work, row, projection)


@put("/Users/{user_id}")
async def replace_user(
    *,
    work: Work,
    request: Request,
    user_id: UUID,
    data: JsonBody,
    attributes: Attributes = None,
    excluded: Excluded = None,
) -> Response:
    """Replace a user."""
    projection = resources.read_projection(attributes, excluded)
    row = await operations.replace_user(work, user_id, data, if_match=request.headers.get("if-match"))
    return _show(work, row, projection)


@patch("/Users/{user_id}")
async def patch_user(
    *,
    work: Work,
    request: Request,
    user_id: UUID,
    data: JsonBody,
    attributes: Attributes = None,
    excluded: Excluded = None,
) -> Response:
    """Change a user."""
    projection = resources.read_projection(attributes, excluded)
    row = await operations.patch_user(work, user_id, data, if_match=request.headers.get("if-match"))
    return _show(work, row, projection)


@delete("/Users/{user_id}", status=204)
async def remove_user(work: Work, request: Request, user_id: UUID) -> None:
    """Remove a user."""
    await operations.remove_user(work, user_id, if_match=request.headers.get("if-match"))


async def _list(
    work: Work, *, filter_: str | None, start: int, count: int, projection: resources.Projection
) -> Response:
    rows, total = await operations.list_users(work, filter_=filter_, start=start, count=count)
    base = base_of(work)
    users = [resources.show_user(row, base, projection) for row in rows]
    return Response(headers={"content-type": SCIM}, body=resources.show_list(users, total=total, start=max(start, 1)))


def _show(work: Work, row: Row, projection: resources.Projection, *, status: int = 200) -> Response:
    base = base_of(work)
    headers = {"content-type": SCIM, **resources.headers_of(row, base)}
    return Response(status=status, headers=headers, body=resources.show_user(row, base, projection).encode())


def base_of(work: Work) -> str:
    return f"{work.runtime.settings.public_url}{PREFIX}"


@get("/ServiceProviderConfig")
async def get_config(work: Work) -> Document:
    """Get the service provider configuration: which parts of SCIM are supported."""
    return describe_service(base_of(work))


@get("/Schemas")
async def list_schemas(work: Work) -> Document:
    """Describe every schema."""
    return list_all(describe_schemas(base_of(work)))


@get("/Schemas/{urn}")
async def get_schema(work: Work, urn: str) -> Document:
    """Describe one schema."""
    return _find(describe_schemas(base_of(work)), urn)


@get("/ResourceTypes")
async def list_resource_types(work: Work) -> Document:
    """Describe every resource type."""
    return list_all(describe_resource_types(base_of(work)))


@get("/ResourceTypes/{name}")
async def get_resource_type(work: Work, name: str) -> Document:
    """Describe one resource type."""
    return _find(describe_resource_types(base_of(work)), name)


@get("/Me")
async def get_me() -> None:
    """Refuse: a token belongs to an organization, not to a user."""
    raise NotSupported("/Me is not supported: a SCIM token belongs to an organization, not to a user")


@put("/Me")
async def replace_me() -> None:
    """Refuse as `get_me`."""
    await get_me()


@patch("/Me")
async def patch_me() -> None:
    """Refuse as `get_me`."""
    await get_me()


@post("/Me")
async def create_me() -> None:
    """Refuse as `get_me`."""
    await get_me()


@delete("/Me")
async def delete_me() -> None:
    """Refuse as `get_me`."""
    await get_me()


@post("/Bulk")
async def run_bulk() -> None:
    """Refuse: bulk operations are not supported."""
    raise NotSupported("/Bulk is not supported")


def _find(documents: list[Document], name: str) -> Document:
    for document in documents:
        if document["id"].lower() == name.lower():
            return document
    raise NotFound
