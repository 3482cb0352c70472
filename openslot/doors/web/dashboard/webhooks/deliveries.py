"""Pages: one webhook endpoint with its log and what can be done with it, one delivery, and sending again."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.errors import WebhookNotActive
from openslot.domains.webhooks.models import DeliveryFilter, Endpoint, EndpointRef, Replay, State
from openslot.domains.webhooks.rules import MAX_REPLAYED, SECRETS_OVERLAP
from openslot.doors.http.doors import take_own
from openslot.doors.http.errors import status_of
from openslot.doors.web.dashboard.webhooks.endpoints import (
    HERE,
    LOGGED_TYPES,
    describe_standing,
    describe_test,
    format_duration,
    format_events,
    format_next,
    format_result,
    show_error,
)
from openslot.doors.web.shared import words
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.list_queries import read_days, read_list_query, read_typed
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid, RateLimited
from openslot.platform.core.moments import Span
from openslot.platform.core.text import ShortLine
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, RateLimit, Request, Response, WhenEmpty, get, post

ROWS = 25
# Tests, and single events that are sent again: people press a button, and programs must not use us to send.
SENDS = RateLimit("webhook-sends", 20)
PROBLEMS = {
    "inactive": WebhookNotActive().sentence,
    "limited": Text("Too many requests. Wait a minute, then try again"),
}
NOTICES = {
    "changed": Text("The endpoint was changed."),
    "paused": Text("The endpoint is paused. What happens meanwhile can be sent later."),
    "resumed": Text("The endpoint is active again. Send the events that it missed with “Replay”."),
    "resent": Text("It will be resent now. The log shows the result."),
}
FIELDS = ("from", "to", "which")
LOG_FIELDS = ("event", "result", "from", "to")
RESULTS = {"delivered": True, "failed": False}
DELIVERY_WORDS: dict[str, Any] = {
    "format_duration": format_duration,
    "format_next": format_next,
    "format_result": format_result,
    "show_error": show_error,
}
WEEK = timedelta(days=6)


@get(f"{HERE}/{{endpoint_id}}")
async def show_endpoint(request: Request, work: Work, user: User, endpoint_id: UUID) -> Response:
    """Show an endpoint, its latest test and one page of its log."""
    return await endpoint_page(request, work, user, endpoint_id)


async def endpoint_page(
    request: Request, work: Work, user: User, endpoint_id: UUID, *, refusal: RateLimited | None = None
) -> Response:
    """Show an endpoint, and why no test was sent if it was refused."""
    overview, path = await webhooks.get_endpoint_overview(work, user, endpoint_id), f"{HERE}/{endpoint_id}"
    endpoint, now = overview.endpoint, work.now
    query = read_list_query(request, user, path, *LOG_FIELDS, choices={"event": LOGGED_TYPES, "result": RESULTS})
    wanted = DeliveryFilter(
        event_type=query["event"] or None, is_delivered=RESULTS.get(query["result"]), span=query.span
    )
    found, has_more = await webhooks.list_deliveries(work, user, endpoint_id, wanted, page=query.page, limit=ROWS)
    return page(
        "dashboard/webhooks/endpoint.html",
        user,
        here=HERE,
        status=status_of(refusal) if refusal else None,
        notice=_find_notice(request),
        refused=refusal.sentence if refusal else None,
        wait=words.wait(refusal.retry_after) if refusal else None,
        path=path,
        endpoint=endpoint,
        is_active=endpoint.state is State.ACTIVE,
        standing=describe_standing(endpoint, user, now=now),
        facts=_list_facts(endpoint, user, work),
        test=overview.test,
        test_words=describe_test(overview.test, user, now=now) if overview.test else None,
        form=query.form,
        event_types=[(name, name) for name in LOGGED_TYPES],
        deliveries=found,
        **DELIVERY_WORDS,
        is_narrowed=query.is_narrowed,
        pager=query.pager_of_uncounted(has_more=has_more),
        curl=curl(work, user, "/events", query={"type": ",".join(endpoint.events)} if endpoint.events else None),
    )


@get(f"{HERE}/{{endpoint_id}}/deliveries/{{delivery_id}}")
async def show_delivery(request: Request, work: Work, user: User, endpoint_id: UUID, delivery_id: UUID) -> Response:
    """Show one try: what was sent, what came back, and whether it is tried again."""
    logged = await webhooks.get_delivery(work, user, endpoint_id, delivery_id)
    attempt = logged.attempt
    return page(
        "dashboard/webhooks/delivery.html",
        user,
        here=HERE,
        notice=_find_notice(request),
        problem=PROBLEMS.get(request.query.get("done", "")),
        path=f"{HERE}/{endpoint_id}",
        attempt=attempt,
        logged=logged,
        headers="\n".join(f"{name}: {value}" for name, value in attempt.request_headers.items()),
        body=None if logged.body is None else _lay_out(logged.body),
        answer=None if attempt.answer is None else attempt.answer.decode(errors="replace"),
        **DELIVERY_WORDS,
    )


@post(f"{HERE}/{{endpoint_id}}/deliveries/{{delivery_id}}/resend", transaction="none")
async def resend_delivery(work: Work, user: User, endpoint_id: UUID, delivery_id: UUID) -> Response:
    """Send one event again, with the same id and the same bytes."""
    await webhooks.get_delivery(work, user, endpoint_id, delivery_id)
    try:
        await take_own(work.runtime, SENDS, user.id)
        async with work.transaction():
            await webhooks.replay_delivery(work, delivery_id, owner_id=user.id)
    except WebhookNotActive:
        return redirect(f"{HERE}/{endpoint_id}/deliveries/{delivery_id}?done=inactive")
    except RateLimited:
        return redirect(f"{HERE}/{endpoint_id}/deliveries/{delivery_id}?done=limited")
    return redirect(f"{HERE}/{endpoint_id}?done=resent#log")


def _find_notice(request: Request) -> Text | None:
    done, count = request.query.get("done", ""), request.query.get("count", "")
    if done == "replayed" and count.isascii() and count.isdecimal() and len(count) < 7:
        return PluralText(
            "%(count)s event will be resent. The log shows the result.",
            "%(count)s events will be resent. The log shows the results.",
            count=int(count),
        )
    return NOTICES.get(done)


def _list_facts(endpoint: Endpoint, user: User, work: Work) -> list[tuple[str, object]]:
    zone, now = user.zone, work.now
    facts: list[tuple[str, object]] = [
        (Text("Events"), format_events(endpoint)),
        (Text("Added"), words.at(endpoint.created_at, zone, now=now)),
    ]
    if endpoint.previous_until is not None and endpoint.previous_until > now:
        facts.append((Text("Old secret is accepted until"), words.at(endpoint.previous_until, zone, now=now)))
    return facts


def _lay_out(body: bytes) -> str:
    """Indent JSON for reading; what is none stays as it is."""
    try:
        return msgspec.json.format(body, indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode(errors="replace")


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
    except RateLimited as refusal:
        return await endpoint_page(request, work, user, endpoint_id, refusal=refusal)
    async with work.transaction():
        await webhooks.send_test_event(work, EndpointRef(endpoint_id, user.id))
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
    endpoint, secret = await webhooks.rotate_endpoint_secret(work, EndpointRef(endpoint_id, user.id))
    until = words.at(endpoint.previous_until or work.now, user.zone, now=work.now)
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
    await webhooks.delete_endpoint(work, EndpointRef(endpoint_id, user.id))
    return redirect(f"{HERE}?done=deleted")


class ReplayForm(Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    first: Annotated[ShortLine, WhenEmpty(Text("Choose the first day"))]
    last: Annotated[ShortLine, WhenEmpty(Text("Choose the last day"))]
    which: Replay = Replay.MISSED


@get(f"{HERE}/{{endpoint_id}}/replay")
async def show_replay(
    request: Request, work: Work, user: User, endpoint_id: UUID, form: Form[ReplayForm] = Form()
) -> Response:
    """Ask for the days; if the address has them, say how many events there are."""
    ref, count = EndpointRef(endpoint_id, user.id), None
    endpoint = await webhooks.get_endpoint(work, ref)
    if form.kind is None and "from" in request.query:
        values = read_typed(request, FIELDS)
        span, faults = _read_span(values, user)
        form = Form(values=values, faults=faults)
        if not faults:
            which = Replay.ALL if values["which"] == Replay.ALL else Replay.MISSED
            count = await webhooks.count_replayed_events(work, ref, span, which)
    elif form.kind is None:
        today = words.day(work.now, user.zone)
        form = Form(values={"from": (today - WEEK).isoformat(), "to": today.isoformat(), "which": "missed"})
    return page(
        "dashboard/webhooks/replay.html",
        user,
        here=HERE,
        endpoint=endpoint,
        is_active=endpoint.state is State.ACTIVE,
        form=form,
        count=count,
        is_cut=count is not None and count >= MAX_REPLAYED,
        max_=MAX_REPLAYED,
    )


@post(f"{HERE}/{{endpoint_id}}/replay", shows=show_replay, at={WebhookNotActive: "form"})
async def replay_days(work: Work, user: User, endpoint_id: UUID, form: Form[ReplayForm]) -> Response:
    """Send the events of some days again."""
    span, faults = _read_span(form.values, user)
    if faults:
        raise Invalid(details=faults)
    sent = await webhooks.replay_events(work, EndpointRef(endpoint_id, user.id), span, form.get().which)
    return redirect(f"{HERE}/{endpoint_id}?done=replayed&count={sent}#log")


def _read_span(values: Mapping[str, str], user: User) -> tuple[Span, dict[str, Text]]:
    """Read both days, neither of which may be left open."""
    missing = {"from": Text("Choose the first day"), "to": Text("Choose the last day")}
    faults = {name: text for name, text in missing.items() if not values.get(name)}
    return read_days(values, faults, user), faults
