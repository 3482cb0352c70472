"""Pages: pause, resume, test, rotate the secret of, and delete a webhook endpoint."""

from uuid import UUID

from openslot.accounts.models import User
from openslot.core.errors import TooMany
from openslot.core.work import Work
from openslot.http.limits import take_own
from openslot.routing import Request, Response, get, post
from openslot.web.dashboard import phrases
from openslot.web.dashboard.webhooks.deliveries import SENDS, endpoint_page
from openslot.web.dashboard.webhooks.endpoints import HERE
from openslot.web.pages import page, redirect
from openslot.webhooks import operations as webhooks
from openslot.webhooks.models import EndpointRef
from openslot.webhooks.rules import SECRETS_OVERLAP


@post(f"{HERE}/{{endpoint_id}}/pause")
async def pause_endpoint(work: Work, user: User, endpoint_id: UUID) -> Response:
    """Send an endpoint nothing until it is resumed."""
    await webhooks.pause_endpoint(work, EndpointRef(endpoint_id, user.id))
    return redirect(f"{HERE}/{endpoint_id}?done=paused")


@post(f"{HERE}/{{endpoint_id}}/resume")
async def resume_endpoint(work: Work, user: User, endpoint_id: UUID) -> Response:
    """Send events to an endpoint again."""
    await webhooks.resume_endpoint(work, EndpointRef(endpoint_id, user.id))
    return redirect(f"{HERE}/{endpoint_id}?done=resumed")


@post(f"{HERE}/{{endpoint_id}}/test", transaction="none")
async def send_endpoint_test(request: Request, work: Work, user: User, endpoint_id: UUID) -> Response:
    """Send a test; the endpoint's page shows its result."""
    try:
        await take_own(work.runtime, SENDS, user.id)
    except TooMany as refusal:
        return await endpoint_page(request, work, user, endpoint_id, refusal=refusal)
    async with work.transaction():
        await webhooks.send_test(work, EndpointRef(endpoint_id, user.id))
    return redirect(f"{HERE}/{endpoint_id}#test")


@get(f"{HERE}/{{endpoint_id}}/rotate")
async def ask_to_rotate(work: Work, user: User, endpoint_id: UUID) -> Response:
    """Say what a new secret means, and ask."""
    endpoint = await webhooks.get_endpoint(work, EndpointRef(endpoint_id, user.id))
    is_rotating = endpoint.previous_until is not None and endpoint.previous_until > work.now
    return page(
        "dashboard/webhooks/rotate.html",
        user,
        here=HERE,
        endpoint=endpoint,
        hours=int(SECRETS_OVERLAP.total_seconds() // 3600),
        is_rotating=is_rotating,
    )


@post(f"{HERE}/{{endpoint_id}}/rotate")
async def rotate_secret(work: Work, user: User, endpoint_id: UUID) -> Response:
    """Make a new secret and show it once, in this response."""
    endpoint, secret = await webhooks.rotate_secret(work, EndpointRef(endpoint_id, user.id))
    until = phrases.at(endpoint.previous_until or work.now, user.zone, now=work.now)
    return page(
        "dashboard/webhooks/secret.html",
        user,
        here=HERE,
        endpoint=endpoint,
        secret=secret,
        until=until,
    )


@get(f"{HERE}/{{endpoint_id}}/delete")
async def ask_to_delete_endpoint(work: Work, user: User, endpoint_id: UUID) -> Response:
    """Ask whether an endpoint and its log are to be deleted."""
    endpoint = await webhooks.get_endpoint(work, EndpointRef(endpoint_id, user.id))
    return page("dashboard/webhooks/delete.html", user, here=HERE, endpoint=endpoint)


@post(f"{HERE}/{{endpoint_id}}/delete")
async def delete_endpoint(work: Work, user: User, endpoint_id: UUID) -> Response:
    """Delete an endpoint with its log."""
    await webhooks.delete_endpoint(work, EndpointRef(endpoint_id, user.id))
    return redirect(f"{HERE}?done=deleted")
