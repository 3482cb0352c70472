"""webhook …: endpoints that are told of events, and what was sent to them."""

from typing import Annotated

import typer
from msgspec import UNSET

from openslot.cli.command import Limit, PageNumber, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import (
    Endpoint,
    EndpointChanges,
    EndpointRef,
    EndpointWanted,
    LoggedDelivery,
    Replay,
)
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.moments import read_span
from openslot.platform.core.work import Work
from openslot.platform.i18n import say

app = group("Webhook endpoints.")

EndpointId = Annotated[str, typer.Argument(help="Id of the endpoint, from `webhook list`")]
Events = Annotated[list[str] | None, typer.Option("--event", help="Event to send; can be repeated [default: all]")]


@command(app, "add")
async def add_endpoint(
    work: Work,
    user: Annotated[str, typer.Option("--user", help="Email address of the user whose events are sent")],
    url: Annotated[str, typer.Option("--url", help="URL that receives the events")],
    event: Events = None,
    description: Annotated[str | None, typer.Option(help="Description of the endpoint")] = None,
) -> Answer:
    """Create an endpoint for a user's events and print its signing secret once."""
    wanted = EndpointWanted(url=url, events=tuple(event or ()), description=description)
    owner = await get_user_by_email(work, user)
    return _answer_with_secret(*await webhooks.add_endpoint(work, owner, wanted))


@command(app, "list")
async def list_endpoints(
    work: Work,
    user: Annotated[str | None, typer.Option("--user", help="Only endpoints of this user, by email address")] = None,
) -> Answer:
    """List endpoints with their state, oldest first."""
    owner = await get_user_by_email(work, user) if user else None
    found = await webhooks.list_endpoints(work, owner)
    rows = [
        (e.id, e.url, ", ".join(e.events) or "all", e.state, say(e.state_reason or ""), e.failing_since) for e in found
    ]
    columns = ("Id", "URL", "Events", "State", "Reason", "Failing since")
    nothing = "No endpoints yet. Add one: openslot webhook add --user EMAIL --url URL"
    return Answer({"webhooks": [shape(endpoint) for endpoint in found]}, TableRows(columns, rows, nothing))


@command(app, "show")
async def show_endpoint(work: Work, endpoint_id: EndpointId) -> Answer:
    """Show one endpoint, without its secret."""
    return _answer(await webhooks.get_endpoint(work, EndpointRef(parse_id(endpoint_id))))


@command(app, "change")
async def change_endpoint(
    work: Work,
    endpoint_id: EndpointId,
    *,
    url: Annotated[str | None, typer.Option("--url", help="New URL")] = None,
    event: Events = None,
    every: Annotated[bool, typer.Option("--all-events", help="Send every event, except booking.reassigned")] = False,
    description: Annotated[str | None, typer.Option(help="New description; empty to remove it")] = None,
) -> Answer:
    """Change an endpoint's URL, events or description."""
    if event and every:
        raise Invalid("Specify --event or --all-events")
    changes = EndpointChanges(
        url=UNSET if url is None else url,
        events=tuple(event) if event else () if every else UNSET,
        description=UNSET if description is None else description,
    )
    return _answer(await webhooks.change_endpoint(work, EndpointRef(parse_id(endpoint_id)), changes))


@command(app, "pause")
async def pause_endpoint(work: Work, endpoint_id: EndpointId) -> Answer:
    """Stop sending to an endpoint until it is resumed."""
    return _answer(await webhooks.pause_endpoint(work, EndpointRef(parse_id(endpoint_id))))


@command(app, "resume")
async def resume_endpoint(work: Work, endpoint_id: EndpointId) -> Answer:
    """Resume an endpoint that is paused or switched off."""
    return _answer(await webhooks.resume_endpoint(work, EndpointRef(parse_id(endpoint_id))))


@command(app, "rotate")
async def rotate_secret(work: Work, endpoint_id: EndpointId) -> Answer:
    """Create a new signing secret and print it once. The old one stays valid for 24 hours."""
    return _answer_with_secret(*await webhooks.rotate_endpoint_secret(work, EndpointRef(parse_id(endpoint_id))))


@command(app, "remove")
async def remove_endpoint(work: Work, endpoint_id: EndpointId) -> Answer:
    """Delete an endpoint and its log."""
    await webhooks.delete_endpoint(work, EndpointRef(parse_id(endpoint_id)))
    return Answer({"removed": endpoint_id}, "The endpoint was deleted.")


@command(app, "test")
async def send_test(work: Work, endpoint_id: EndpointId) -> Answer:
    """Send a test event to an endpoint, even if it is paused."""
    endpoint = await webhooks.send_test_event(work, EndpointRef(parse_id(endpoint_id)))
    text = f"A test event will be sent to {endpoint.url}. See: openslot webhook deliveries {endpoint.id}"
    return Answer({"sent": endpoint.id, "url": endpoint.url}, text)


@command(app, "deliveries")
async def list_deliveries(
    work: Work,
    endpoint_id: EndpointId,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed attempts")] = False,
    page: PageNumber = 1,
    limit: Limit = 50,
) -> Answer:
    """List the delivery attempts of the last 30 days, newest first."""
    ref = EndpointRef(parse_id(endpoint_id))
    found, total = await webhooks.list_attempts(work, ref, only_failed=failed, page=page, limit=limit)
    tried = [(each.attempt, each.event_type) for each in found]
    rows = [(a.id, a.at, event_type, a.attempt, a.status, a.duration_ms, say(a.error or "")) for a, event_type in tried]
    columns = ("Id", "At", "Event", "Try", "Status", "ms", "Error")
    none = "No delivery has failed." if failed else "Nothing was sent yet."
    nothing = f"Page {page} is empty; there are {total} deliveries." if total else none
    return Answer(
        {"deliveries": [_shape_attempt(each) for each in found], "total": total}, TableRows(columns, rows, nothing)
    )


@command(app, "replay")
async def replay(
    work: Work,
    delivery_id: Annotated[str | None, typer.Argument(help="Id of a delivery, from `webhook deliveries`")] = None,
    *,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Endpoint whose events are sent again")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="First date or date-time, in UTC")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Last date or date-time, in UTC, included")] = None,
    every: Annotated[bool, typer.Option("--all", help="Include events that were delivered")] = False,
) -> Answer:
    """Send one delivery again, or the events of a time range that were not delivered. Ids and bytes stay the same."""
    if (delivery_id is None) == (endpoint is None):
        raise Invalid("Specify a delivery id, or --endpoint with --from and --to")
    count = 1
    if delivery_id is not None:
        await webhooks.replay_delivery(work, parse_id(delivery_id), owner_id=None)
    else:
        ref, span = EndpointRef(parse_id(endpoint or "")), read_span(from_, to)
        count = await webhooks.replay_events(work, ref, span, Replay.ALL if every else Replay.MISSED)
    return Answer({"replayed": count}, f"{count} event{'' if count == 1 else 's'} will be sent again.")


def shape(endpoint: Endpoint) -> dict[str, object]:
    """Shape an endpoint for scripts, without its secret."""
    names = "id owner_id url description events state state_reason state_since failing_since created_at"
    return pick(endpoint, names, previous_secret_until=endpoint.previous_until)


def _shape_attempt(logged: LoggedDelivery) -> dict[str, object]:
    attempt = logged.attempt
    # Bytes of the answer that are not text are replaced.
    answer = attempt.answer.decode("utf-8", "replace") if attempt.answer is not None else None
    names = "id event_id attempt at url request_headers status duration_ms error"
    return pick(attempt, names, event_type=logged.event_type, answer=answer)


def _answer(endpoint: Endpoint) -> Answer:
    because = f" ({say(endpoint.state_reason)})" if endpoint.state_reason else ""
    events = ", ".join(endpoint.events) or "all events"
    return Answer(shape(endpoint), f"{endpoint.id}: {endpoint.url}, {events}, {endpoint.state}{because}")


def _answer_with_secret(endpoint: Endpoint, secret: str) -> Answer:
    text = f"{_answer(endpoint).text}\nShown only once: {secret}"
    return Answer({"secret": secret, "webhook": shape(endpoint)}, text)
