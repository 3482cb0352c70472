"""SCIM: groups, which are the teams of the organization, and searches of users and groups together."""

from typing import Annotated
from uuid import UUID

from openslot.doors.scim import resources
from openslot.doors.scim.api import Attributes, Excluded, JsonBody, SearchBody, base_of
from openslot.doors.scim.door import SCIM
from openslot.doors.scim.groups import operations
from openslot.doors.scim.groups.resources import GroupProjection, read_group_projection, show_group
from openslot.platform.core.db import Row
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, Request, Response, delete, get, patch, post, put


@get("/Groups")
async def list_groups(
    *,
    work: Work,
    filter_: Annotated[str | None, Query("filter")] = None,
    start: Annotated[int, Query("startIndex")] = 1,
    count: Annotated[int, Query("count")] = 100,
    attributes: Attributes = None,
    excluded: Excluded = None,
) -> Response:
    """List the organization's groups."""
    projection = read_group_projection(attributes, excluded)
    return await _list(work, filter_=filter_, start=start, count=count, projection=projection)


@post("/Groups/.search", transaction="none")
async def search_groups(work: Work, data: SearchBody) -> Response:
    """List the organization's groups by a query in the body."""
    projection = read_group_projection(
        resources.join_names(data.attributes), resources.join_names(data.excluded_attributes)
    )
    return await _list(work, filter_=data.filter, start=data.start_index, count=data.count, projection=projection)


@post("/.search", transaction="none")
async def search_all(work: Work, data: SearchBody) -> Response:
    """List users, then groups, by a query in the body."""
    names = resources.join_names(data.attributes), resources.join_names(data.excluded_attributes)
    found = await operations.search_all(work, filter_=data.filter, start=data.start_index, count=data.count)
    base = base_of(work)
    shown = [resources.show_user(row, base, resources.read_projection(*names)) for row in found.users]
    shown += [show_group(row, base, read_group_projection(*names)) for row in found.groups]
    body = resources.show_list(shown, total=found.total, start=max(data.start_index, 1))
    return Response(headers={"content-type": SCIM}, body=body)


@post("/Groups", status=201)
async def create_group(
    work: Work, data: JsonBody, attributes: Attributes = None, excluded: Excluded = None
) -> Response:
    """Create a group with its members."""
    projection = read_group_projection(attributes, excluded)
    return _show(work, await operations.create_group(work, data), projection, status=201)


@get("/Groups/{group_id}")
async def get_group(
    work: Work, request: Request, group_id: UUID, attributes: Attributes = None, excluded: Excluded = None
) -> Response:
    """Get a group; 304 if unchanged."""
    projection = read_group_projection(attributes, excluded)
    row = await operations.get_group(work, group_id, with_members=projection.has("members"))
    known = request.headers.get("if-none-match")
    if known is not None and resources.is_named(row["version"], known):
        return Response(status=304, headers={"etag": resources.etag(row["version"])})
    return _show(work, row, projection)


@put("/Groups/{group_id}")
async def replace_group(
    *,
    work: Work,
    request: Request,
    group_id: UUID,
    data: JsonBody,
    attributes: Attributes = None,
    excluded: Excluded = None,
) -> Response:
    """Replace a group."""
    projection = read_group_projection(attributes, excluded)
    changed = await operations.replace_group(work, group_id, data, if_match=request.headers.get("if-match"))
    return _show(work, changed.row, projection, kept=changed.kept)


@patch("/Groups/{group_id}")
async def patch_group(
    *,
    work: Work,
    request: Request,
    group_id: UUID,
    data: JsonBody,
    attributes: Attributes = None,
    excluded: Excluded = None,
) -> Response:
    """Change a group."""
    projection = read_group_projection(attributes, excluded)
    changed = await operations.change_group(work, group_id, data, if_match=request.headers.get("if-match"))
    return _show(work, changed.row, projection, kept=changed.kept)


@delete("/Groups/{group_id}", status=204)
async def remove_group(work: Work, request: Request, group_id: UUID) -> Response:
    """Remove a group."""
    kept = await operations.remove_group(work, group_id, if_match=request.headers.get("if-match"))
    notice = f"The team is kept without members until an administrator deletes it; upcoming bookings: {kept}"
    return Response(status=204, headers={resources.NOTICE: notice} if kept else {})


async def _list(work: Work, *, filter_: str | None, start: int, count: int, projection: GroupProjection) -> Response:
    rows, total = await operations.list_groups(
        work, filter_=filter_, start=start, count=count, with_members=projection.has("members")
    )
    shown = [show_group(row, base_of(work), projection) for row in rows]
    return Response(headers={"content-type": SCIM}, body=resources.show_list(shown, total=total, start=max(start, 1)))


def _show(work: Work, row: Row, projection: GroupProjection, *, status: int = 200, kept: int = 0) -> Response:
    base = base_of(work)
    headers = {
        "content-type": SCIM,
        "location": f"{base}/Groups/{row['id']}",
        "etag": resources.etag(row["version"]),
    }
    if kept:
        headers[resources.NOTICE] = f"Too many were removed at once: they still host {kept} upcoming bookings"
    return Response(status=status, headers=headers, body=show_group(row, base, projection).encode())
