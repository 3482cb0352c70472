"""SCIM: what the service reports about itself, and the parts of SCIM that it does not offer."""

from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.routing import delete, get, patch, post, put
from openslot.scim.api import base_of
from openslot.scim.discovery import (
    Document,
    describe_resource_types,
    describe_schemas,
    describe_service,
    list_all,
)
from openslot.scim.errors import NotSupported


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


@get("/Groups")
async def list_groups() -> Document:
    """List groups: always empty."""
    return list_all([])


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
