"""webhook …: endpoints that are told of events, and what was sent to them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer
from msgspec import UNSET, Struct

from openslot.accounts import operations as accounts
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.moments import read_span
from openslot.core.work import Work
from openslot.processes.runtimes import with_work
from openslot.webhooks import operations as webhooks
from openslot.webhooks.models import Endpoint, EndpointChanges, EndpointRef, EndpointWanted, LoggedAttempt, State

app = typer.Typer(help="Webhook endpoints.", no_args_is_help=True, add_completion=False)

EndpointId = Annotated[str, typer.Argument(help="Id of the endpoint, from `webhook list`")]
Events = Annotated[list[str] | None, typer.Option("--event", help="Event to send; can be repeated [default: all]")]


class ShownEndpoint(Struct, frozen=True, kw_only=True, rename="camel"):
    """An endpoint as scripts see it."""

    id: UUID
    owner_id: UUID
    url: str
    description: str | None
    events: tuple[str, ...]
    state: State
    state_reason: str | None
    state_since: datetime
    previous_secret_until: datetime | None
    failing_since: datetime | None
    created_at: datetime


class ShownAttempt(Struct, frozen=True, kw_only=True, rename="camel"):
    """One delivery attempt as scripts see it."""

    id: UUID
    event_id: UUID
    event_type: str
    attempt: int
    at: datetime
    url: str
    request_headers: dict[str, str]
    status: int | None
    answer: str | None
    duration_ms: int
    error: str | None


@app.command("add")
def add_endpoint(
    user: Annotated[str, typer.Option("--user", help="Email address of the user whose events are sent")],
    url: Annotated[str, typer.Option("--url", help="URL that receives the events")],
    event: Events = None,
    description: Annotated[str | None, typer.Option(help="Description of the endpoint")] = None,
    as_json: AsJson = False,
) -> None:
    """Create an endpoint for a user's events and print its signing secret once."""
    wanted = EndpointWanted(url=url, events=tuple(event or ()), description=description)

    async def do(work: Work) -> tuple[Endpoint, str]:
        return await webhooks.add_endpoint(work, await accounts.get_user_by_email(work, user), wanted)

    _show_with_secret(*with_work(do), as_json=as_json)


@app.command("list")
def list_endpoints(
    user: Annotated[str | None, typer.Option("--user", help="Only endpoints of this user, by email address")] = None,
    as_json: AsJson = False,
) -> None:
    """List endpoints with their state, oldest first."""

    async def do(work: Work) -> list[Endpoint]:
        owner = await accounts.get_user_by_email(work, user) if user else None
        return await webhooks.list_endpoints(work, owner)

    found = with_work(do)
    if as_json:
        print_json({"webhooks": [shown(endpoint) for endpoint in found]})
        return
    rows = [(e.id, e.url, ", ".join(e.events) or "all", e.state, e.state_reason, e.failing_since) for e in found]
    columns = ("Id", "URL", "Events", "State", "Reason", "Failing since")
    print_table(columns, rows, nothing="No endpoints yet. Add one: openslot webhook add --user EMAIL --url URL")


@app.command("show")
def show_endpoint(endpoint_id: EndpointId, as_json: AsJson = False) -> None:
    """Show one endpoint, without its secret."""
    _show(with_work(lambda work: webhooks.get_endpoint(work, EndpointRef(parse_id(endpoint_id)))), as_json=as_json)


@app.command("change")
def change_endpoint(
    endpoint_id: EndpointId,
    *,
    url: Annotated[str | None, typer.Option("--url", help="New URL")] = None,
    event: Events = None,
    every: Annotated[bool, typer.Option("--all-events", help="Send every event")] = False,
    description: Annotated[str | None, typer.Option(help="New description; empty to remove it")] = None,
    as_json: AsJson = False,
) -> None:
    """Change an endpoint's URL, events or description."""
    if event and every:
        raise Invalid("Specify --event or --all-events")
    changes = EndpointChanges(
        url=UNSET if url is None else url,
        events=tuple(event) if event else () if every else UNSET,
        description=UNSET if description is None else description,
    )
    _show(
        with_work(lambda work: webhooks.change_endpoint(work, EndpointRef(parse_id(endpoint_id)), changes)),
        as_json=as_json,
    )


@app.command("pause")
def pause_endpoint(endpoint_id: EndpointId, as_json: AsJson = False) -> None:
    """Pause an endpoint."""
    _show(with_work(lambda work: webhooks.pause_endpoint(work, EndpointRef(parse_id(endpoint_id)))), as_json=as_json)


@app.command("resume")
def resume_endpoint(endpoint_id: EndpointId, as_json: AsJson = False) -> None:
    """Resume an endpoint that is paused or switched off."""
    _show(with_work(lambda work: webhooks.resume_endpoint(work, EndpointRef(parse_id(endpoint_id)))), as_json=as_json)


@app.command("rotate")
def rotate_secret(endpoint_id: EndpointId, as_json: AsJson = False) -> None:
    """Create a new signing secret and print it once. The old one stays valid for 24 hours."""
    found = with_work(lambda work: webhooks.rotate_secret(work, EndpointRef(parse_id(endpoint_id))))
    _show_with_secret(*found, as_json=as_json)


@app.command("remove")
def remove_endpoint(endpoint_id: EndpointId, as_json: AsJson = False) -> None:
    """Delete an endpoint and its log."""
    with_work(lambda work: webhooks.delete_endpoint(work, EndpointRef(parse_id(endpoint_id))))
    if as_json:
        print_json({"removed": endpoint_id})
        return
    console.print("The endpoint was deleted.")


@app.command("test")
def send_test(endpoint_id: EndpointId, as_json: AsJson = False) -> None:
    """Send a test event to an endpoint, even if it is paused."""
    endpoint = with_work(lambda work: webhooks.send_test(work, EndpointRef(parse_id(endpoint_id))))
    if as_json:
        print_json({"sent": endpoint.id, "url": endpoint.url})
        return
    console.print(f"A test event will be sent to {endpoint.url}. See: openslot webhook deliveries {endpoint.id}")


@app.command("deliveries")
def list_deliveries(
    endpoint_id: EndpointId,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed attempts")] = False,
    page: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List the delivery attempts of the last 30 days, newest first."""
    ref = EndpointRef(parse_id(endpoint_id))
    found, total = with_work(lambda work: webhooks.list_attempts(work, ref, only_failed=failed, page=page, limit=limit))
    if as_json:
        print_json({"deliveries": [shown_attempt(one) for one in found], "total": total})
        return
    rows = [
        (
            a.attempt.id,
            a.attempt.at,
            a.event_type,
            a.attempt.attempt,
            a.attempt.status,
            a.attempt.duration_ms,
            a.attempt.error,
        )
        for a in found
    ]
    columns = ("Id", "At", "Event", "Try", "Status", "ms", "Error")
    none = "No delivery has failed." if failed else "Nothing was sent yet."
    print_table(columns, rows, nothing=f"Page {page} is empty; there are {total} deliveries." if total else none)


@app.command("replay")
def replay(
    delivery_id: Annotated[str | None, typer.Argument(help="Id of a delivery, from `webhook deliveries`")] = None,
    *,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Endpoint whose events are sent again")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="First date or date-time, in UTC")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Last date or date-time, in UTC, included")] = None,
    every: Annotated[bool, typer.Option("--all", help="Include events that were delivered")] = False,
    as_json: AsJson = False,
) -> None:
    """Send one delivery again, or the events of a time range that were not delivered. Ids and bytes stay the same."""

    async def do(work: Work) -> int:
        if delivery_id is not None:
            await webhooks.replay_delivery(work, parse_id(delivery_id), owner_id=None)
            return 1
        ref, span = EndpointRef(parse_id(endpoint or "")), read_span(from_, to)
        return await (webhooks.replay_all if every else webhooks.replay_missed)(work, ref, span)

    if (delivery_id is None) == (endpoint is None):
        raise Invalid("Specify a delivery id, or --endpoint with --from and --to")
    count = with_work(do)
    if as_json:
        print_json({"replayed": count})
        return
    console.print(f"{count} event{'' if count == 1 else 's'} will be sent again.")


def shown(endpoint: Endpoint) -> ShownEndpoint:
    """Convert an endpoint to its form for scripts."""
    return ShownEndpoint(
        id=endpoint.id,
        owner_id=endpoint.owner_id,
        url=endpoint.url,
        description=endpoint.description,
        events=endpoint.events,
        state=endpoint.state,
        state_reason=endpoint.state_reason,
        state_since=endpoint.state_since,
        previous_secret_until=endpoint.previous_until,
        failing_since=endpoint.failing_since,
        created_at=endpoint.created_at,
    )


def shown_attempt(logged: LoggedAttempt) -> ShownAttempt:
    """Convert an attempt to its form for scripts; bytes of the response that are not text are replaced."""
    attempt = logged.attempt
    return ShownAttempt(
        id=attempt.id,
        event_id=attempt.event_id,
        event_type=logged.event_type,
        attempt=attempt.attempt,
        at=attempt.at,
        url=attempt.url,
        request_headers=attempt.request_headers,
        status=attempt.status,
        answer=attempt.answer.decode("utf-8", "replace") if attempt.answer is not None else None,
        duration_ms=attempt.duration_ms,
        error=attempt.error,
    )


def _show(endpoint: Endpoint, *, as_json: bool) -> None:
    if as_json:
        print_json(shown(endpoint))
        return
    because = f" ({endpoint.state_reason})" if endpoint.state_reason else ""
    console.print(
        f"{endpoint.id}: {endpoint.url}, {', '.join(endpoint.events) or 'all events'}, {endpoint.state}{because}"
    )


def _show_with_secret(endpoint: Endpoint, secret: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"secret": secret, "webhook": shown(endpoint)})
        return
    _show(endpoint, as_json=False)
    console.print(f"Shown only once: {secret}", soft_wrap=True)
