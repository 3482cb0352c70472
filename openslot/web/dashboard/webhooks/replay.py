"""Pages: send the events of some days to an endpoint again, after their number is known."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.moments import Span
from openslot.core.text import ShortLine
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, WhenEmpty, get, post
from openslot.web import words
from openslot.web.dashboard.webhooks.endpoints import HERE
from openslot.web.list_addresses import read_days, read_typed
from openslot.web.pages import page, redirect
from openslot.webhooks import operations as webhooks
from openslot.webhooks.errors import WebhookNotActive
from openslot.webhooks.models import Endpoint, EndpointRef, State
from openslot.webhooks.rules import MOST_REPLAYED

FIELDS = ("from", "to", "which")
WEEK = timedelta(days=6)


class ReplayForm(Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """Which events are sent again."""

    first: Annotated[ShortLine, WhenEmpty(Text("Choose the first day"))]
    last: Annotated[ShortLine, WhenEmpty(Text("Choose the last day"))]
    which: Literal["missed", "all"] = "missed"


@get(f"{HERE}/{{endpoint_id}}/replay")
async def show_replay(request: Request, work: Work, user: User, endpoint_id: UUID) -> Response:
    """Ask for the days; if the address has them, say how many events there are."""
    ref = EndpointRef(endpoint_id, user.id)
    endpoint = await webhooks.get_endpoint(work, ref)
    if "from" not in request.query:
        return _replay_page(user, endpoint, _begin(user, now=work.now))
    values = read_typed(request, FIELDS)
    span, faults = _read_span(values, user)
    form: Form[ReplayForm] = Form(values=values, faults=faults)
    if faults:
        return _replay_page(user, endpoint, form)
    count = webhooks.count_all if values["which"] == "all" else webhooks.count_missed
    return _replay_page(user, endpoint, form, count=await count(work, ref, span))


@post(f"{HERE}/{{endpoint_id}}/replay")
async def replay_days(work: Work, user: User, endpoint_id: UUID, form: Form[ReplayForm]) -> Response:
    """Send the events of some days again."""
    ref = EndpointRef(endpoint_id, user.id)
    endpoint = await webhooks.get_endpoint(work, ref)
    span, faults = _read_span(form.values, user)
    form = form.with_faults({**faults, **form.faults})
    if form.faults:
        return _replay_page(user, endpoint, form)
    replay = webhooks.replay_all if form.get().which == "all" else webhooks.replay_missed
    try:
        sent = await replay(work, ref, span)
    except WebhookNotActive as refusal:
        return _replay_page(user, endpoint, form.with_faults({"form": refusal.sentence}))
    return redirect(f"{HERE}/{endpoint_id}?done=replayed&count={sent}#log")


def _begin(user: User, *, now: datetime) -> Form[ReplayForm]:
    today = words.day(now, user.zone)
    return Form(values={"from": (today - WEEK).isoformat(), "to": today.isoformat(), "which": "missed"})


def _read_span(values: Mapping[str, str], user: User) -> tuple[Span, dict[str, Text]]:
    """Read both days, neither of which may be left open."""
    missing = {"from": Text("Choose the first day"), "to": Text("Choose the last day")}
    faults = {name: text for name, text in missing.items() if not values.get(name)}
    return read_days(values, faults, user), faults


def _replay_page(user: User, endpoint: Endpoint, form: Form[ReplayForm], *, count: int | None = None) -> Response:
    return page(
        "dashboard/webhooks/replay.html",
        user,
        here=HERE,
        status=400 if form.faults else 200,
        endpoint=endpoint,
        is_active=endpoint.state is State.ACTIVE,
        form=form,
        count=count,
        is_cut=count is not None and count >= MOST_REPLAYED,
        most=MOST_REPLAYED,
    )
