"""Pages: the list of webhook endpoints, the forms that add and change one, and what is said about them."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.events import BookingCancelled, BookingCreated, BookingReassigned, BookingRescheduled
from openslot.domains.contacts.events import ContactCreated
from openslot.domains.payments.events import PaymentReceived
from openslot.domains.webhooks import models
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.errors import WebhookLimitExceeded
from openslot.domains.webhooks.events import WebhookTested
from openslot.domains.webhooks.rules import MAX_ENDPOINTS
from openslot.domains.webhooks.schemas import PUBLISHED, PUBLISHED_TYPES
from openslot.doors.web.shared import words
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.outbound import OutboundReason, OutboundRefused
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text, recall
from openslot.platform.routing import Form, Response, get, post

MISSING = Text("Enter the address that receives the events")
CHOOSE = Text("Choose at least one event")
SECURE = Text("must begin with https://")
PRIVATE = Text("must lead to a public address")
URL_FAULTS = {
    OutboundReason.TOO_LONG: Text("must have at most 2048 characters"),
    OutboundReason.CHARACTERS: Text("must be an address of printable ASCII characters, without spaces"),
    OutboundReason.SCHEME: SECURE,
    OutboundReason.INSECURE: SECURE,
    OutboundReason.USERINFO: Text("must not contain a user name or password"),
    OutboundReason.HOST: Text("must have a full domain name"),
    OutboundReason.PORT: Text("must have a port that is open to outgoing requests, such as 443"),
    OutboundReason.NUMBER: Text("must have an IPv4 address of four decimal numbers"),
    OutboundReason.NAME: PRIVATE,
    OutboundReason.ADDRESS: PRIVATE,
}
HERE = "/settings/webhooks"
NOTICES = {"deleted": Text("The endpoint and its log were deleted.")}
GROUPS = {"booking": Text("Bookings"), "contact": Text("Contacts"), "payment": Text("Payments")}
SENTENCES = {
    BookingCreated.type: Text("A new booking was confirmed."),
    BookingRescheduled.type: Text("A booking was rescheduled."),
    BookingCancelled.type: Text("A booking was cancelled."),
    BookingReassigned.type: Text("A booking of a team was handed over to another host. Only sent if you choose it."),
    ContactCreated.type: Text("A contact was added, by a booking or manually."),
    PaymentReceived.type: Text("A booking was paid for."),
}
# What the log can have.
LOGGED_TYPES = (*PUBLISHED_TYPES, WebhookTested.type)


class EndpointForm(Struct, frozen=True, kw_only=True):
    url: str = ""
    which: Literal["all", "chosen"] = "all"
    events: list[str] = []
    description: str = ""

    @property
    def wanted_events(self) -> tuple[str, ...]:
        return tuple(self.events) if self.which == "chosen" else ()


def _check(form: Form[EndpointForm]) -> EndpointForm:
    """Ask for an address, and for an event if only chosen ones are to be sent."""
    sent = form.get()
    faults = {} if sent.url.strip() else {"url": MISSING}
    if sent.which == "chosen" and not sent.events:
        faults["events"] = CHOOSE
    if faults:
        raise Invalid(details=faults)
    return sent


def _name_url_fault(refusal: OutboundRefused) -> Invalid:
    """Say at the URL's field why it is refused."""
    return Invalid(details={"url": URL_FAULTS.get(refusal.reason, refusal.sentence)})


@get(HERE)
async def show_endpoints(work: Work, user: User) -> Response:
    """List the endpoints with how they are doing."""
    found = await webhooks.list_endpoint_overviews(work, user)
    return page(
        "dashboard/webhooks/endpoints.html",
        user,
        here=HERE,
        notices=NOTICES,
        rows=[
            (
                each.endpoint,
                describe_standing(each.endpoint, user, now=work.now),
                format_events(each.endpoint),
                format_last(each.last, user, now=work.now),
            )
            for each in found
        ],
        max_=MAX_ENDPOINTS,
        is_full=len(found) >= MAX_ENDPOINTS,
        curl=curl(work, user, "/events", query={"limit": "100"}),
    )


@get(f"{HERE}/new")
async def show_new_endpoint(user: User, form: Form[EndpointForm] = Form()) -> Response:
    """Ask for the address and the events."""
    return _form_page("dashboard/webhooks/new.html", user, form.begin({"which": "all"}))


@post(HERE, shows=show_new_endpoint, at={WebhookLimitExceeded: "form"})
async def add_endpoint(work: Work, user: User, form: Form[EndpointForm]) -> Response:
    """Add an endpoint and show its secret once, in this response."""
    sent = _check(form)
    wanted = models.EndpointWanted(url=sent.url.strip(), events=sent.wanted_events, description=sent.description)
    try:
        endpoint, secret = await webhooks.add_endpoint(work, user, wanted)
    except OutboundRefused as refusal:
        raise _name_url_fault(refusal) from None
    return page("dashboard/webhooks/secret.html", user, here=HERE, endpoint=endpoint, secret=secret, until=None)


@get(f"{HERE}/{{endpoint_id}}/edit")
async def show_endpoint_form(work: Work, user: User, endpoint_id: UUID, form: Form[EndpointForm] = Form()) -> Response:
    endpoint = await webhooks.get_endpoint(work, models.EndpointRef(endpoint_id, user.id))
    if form.kind is None:
        which, description = "chosen" if endpoint.events else "all", endpoint.description or ""
        form = Form(
            values={"url": endpoint.url, "which": which, "description": description},
            sent=EndpointForm(url=endpoint.url, events=list(endpoint.events)),
        )
    return _form_page("dashboard/webhooks/edit.html", user, form, endpoint_id=endpoint_id)


@post(f"{HERE}/{{endpoint_id}}/edit", shows=show_endpoint_form)
async def change_endpoint(work: Work, user: User, endpoint_id: UUID, form: Form[EndpointForm]) -> Response:
    """Change an endpoint's address, events or description."""
    sent = _check(form)
    changes = models.EndpointChanges(url=sent.url.strip(), events=sent.wanted_events, description=sent.description)
    try:
        await webhooks.change_endpoint(work, models.EndpointRef(endpoint_id, user.id), changes)
    except OutboundRefused as refusal:
        raise _name_url_fault(refusal) from None
    return redirect(f"{HERE}/{endpoint_id}?done=changed")


def _form_page(template: str, user: User, form: Form[EndpointForm], *, endpoint_id: UUID | None = None) -> Response:
    chosen = form.sent.events if form.sent else ()
    groups = group_events()
    return page(template, user, here=HERE, form=form, chosen=chosen, groups=groups, endpoint_id=endpoint_id)


class EndpointStanding(Struct, frozen=True, kw_only=True):
    name: Text
    tone: str
    since: Text | None = None
    reason: str | None = None
    is_ours: bool = True
    """Whether the reason is one of our sentences, and not another server's."""


def describe_standing(endpoint: models.Endpoint, user: User, *, now: datetime) -> EndpointStanding:
    """Say whether an endpoint works, and since when it does not."""
    since = Text("since %(when)s", when=words.at(endpoint.state_since, user.zone, now=now))
    if endpoint.state is models.State.PAUSED:
        return EndpointStanding(name=Text("Paused"), tone="warn", since=since)
    if endpoint.state is models.State.DISABLED:
        reason = recall(endpoint.state_reason) if endpoint.state_reason else None
        return EndpointStanding(
            name=Text("Switched off"), tone="bad", since=since, reason=reason, is_ours=isinstance(reason, Text)
        )
    if endpoint.failing_since is not None:
        failing = Text("since %(when)s", when=words.at(endpoint.failing_since, user.zone, now=now))
        return EndpointStanding(name=Text("Failing"), tone="bad", since=failing)
    return EndpointStanding(name=Text("Working"), tone="good")


def format_events(endpoint: models.Endpoint) -> str:
    return ", ".join(endpoint.events) if endpoint.events else Text("All events")


def format_duration(milliseconds: int) -> Text:
    if milliseconds < 1000:
        return Text("%(count)s ms", count=milliseconds)
    return Text("%(count)s s", count=round(milliseconds / 1000, 1))


def format_result(attempt: models.Attempt) -> tuple[Text, str]:
    """Say how a try ended, with its tone."""
    if attempt.error is None:
        return Text("Delivered, %(status)s", status=attempt.status), "good"
    if attempt.status is not None:
        return Text("Failed, %(status)s", status=attempt.status), "bad"
    return Text("Failed, no answer"), "bad"


def show_error(attempt: models.Attempt) -> str | None:
    """Return the error of a try, as a text that can be translated if it is one of ours."""
    return None if attempt.error is None else recall(attempt.error)


def format_next(next_try_at: datetime | None, *, now: datetime) -> Text | None:
    return None if next_try_at is None else words.retry_in(max(next_try_at - now, timedelta()))


def describe_test(test: models.LastTest, user: User, *, now: datetime) -> tuple[Text, str, Text | None]:
    """Say how the latest test has ended, with its tone and what follows."""
    when = words.at(test.at, user.zone, now=now)
    if test.attempt is None:
        if test.is_under_way:
            return Text("The test sent %(when)s is in progress.", when=when), "", None
        return Text("The test of %(when)s could not be sent.", when=when), "bad", None
    took = format_duration(test.attempt.duration_ms)
    if test.attempt.error is None:
        delivered = Text(
            "The test sent %(when)s was delivered. The endpoint answered %(status)s after %(time)s.",
            when=when,
            status=test.attempt.status,
            time=took,
        )
        return delivered, "good", None
    tries = PluralText(
        "The test sent %(when)s failed after %(count)s attempt.",
        "The test sent %(when)s failed after %(count)s attempts.",
        when=when,
        count=test.attempt.attempt,
    )
    return tries, "bad", format_next(test.next_try_at, now=now)


def format_last(last: models.Attempt | None, user: User, *, now: datetime) -> Text:
    if last is None:
        return Text("Nothing has been sent yet")
    when = words.at(last.at, user.zone, now=now)
    if last.error is None:
        return Text("Last delivery %(when)s, answered %(status)s", when=when, status=last.status)
    if last.status is not None:
        return Text("Last delivery %(when)s failed, answered %(status)s", when=when, status=last.status)
    return Text("Last delivery %(when)s failed, no answer", when=when)


def group_events() -> list[tuple[str, list[tuple[str, str]]]]:
    """List every event that can be chosen with what it says, by group; one that is new here is told in English."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for one in PUBLISHED:
        kind = one.event.type
        sentence = SENTENCES.get(kind) or (one.event.__doc__ or kind).strip()
        group = kind.partition(".")[0]
        groups.setdefault(GROUPS.get(group, Text("Others")), []).append((kind, sentence))
    return list(groups.items())
