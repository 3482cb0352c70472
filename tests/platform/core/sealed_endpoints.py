"""Webhook endpoints, whose secrets are sealed."""

from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointRef, EndpointWanted
from openslot.platform.core.work import Work


async def add_endpoint(work: Work, owner: User) -> tuple[UUID, str]:
    wanted = EndpointWanted(url="https://hooks.example.com/", events=(), description=None)
    endpoint, secret = await webhooks.add_endpoint(work, owner, wanted)
    return endpoint.id, secret


async def rotate_endpoint(work: Work, endpoint_id: UUID) -> str:
    _, secret = await webhooks.rotate_endpoint_secret(work, EndpointRef(endpoint_id))
    return secret
