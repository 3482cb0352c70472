"""Endpoints, deliveries and events as a host reads them, and what the log of deliveries is filtered by."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.events import BookingCancelled, BookingCreated, BookingRescheduled
from openslot.contacts.events import ContactCreated
from openslot.i18n import PluralText, Text
from openslot.integrations.calendars.errors import show_failure
from openslot.routing import Form, Request
from openslot.web import list_queries, words
from openslot.web.list_queries import read_days, read_page, read_typed
from openslot.webhooks.events import WebhookTested
from openslot.webhooks.models import (
    SHOWN,
    Attempt,
    DeliveryFilter,
    Endpoint,
    EndpointOverview,
    LastTest,
    LoggedDelivery,
    State,
)
from openslot.webhooks.schemas import PUBLISHED, PUBLISHED_TYPES

GROUPS = {"booking": Text("Bookings"), "contact": Text("Contacts")}
SENTENCES = {
    BookingCreated.type: Text("A new booking was confirmed."),
    BookingRescheduled.type: Text("A booking was rescheduled."),
    BookingCancelled.type: Text("A booking was cancelled."),
    ContactCreated.type: Text("A contact was added, by a booking or manually."),
}
# What the log can have.
LOGGED_TYPES = (*PUBLISHED_TYPES, WebhookTested.type)
FIELDS = ("event", "result", "from", "to")
RESULTS = {"delivered": True, "failed": False}


class EndpointStanding(Struct, frozen=True, kw_only=True):
    name: Text
    tone: str
    since: Text | None = None
    reason: str | None = None
    is_ours: bool = True
    """Whether the reason is one of our sentences, and not another server's."""


class EndpointRow(Struct, frozen=True, kw_only=True):
    id: UUID
    url: str
    description: str | None
    standing: EndpointStanding
    events: str
    last: Text


class DeliveryRow(Struct, frozen=True, kw_only=True):
    id: UUID
    event_type: str
    result: Text
    tone: str
    at: Text
    attempt: int
    took: Text
    error: str | None
    next_try: Text | None


def describe_standing(endpoint: Endpoint, user: User, *, now: datetime) -> EndpointStanding:
    """Say whether an endpoint works, and since when it does not."""
    since = Text("since %(when)s", when=words.at(endpoint.state_since, user.zone, now=now))
    if endpoint.state is State.PAUSED:
        return EndpointStanding(name=Text("Paused"), tone="warn", since=since)
    if endpoint.state is State.DISABLED:
        given = endpoint.state_reason or ""
        reason = SHOWN.get(given, given) or None
        return EndpointStanding(
            name=Text("Switched off"), tone="bad", since=since, reason=reason, is_ours=isinstance(reason, Text)
        )
    if endpoint.failing_since is not None:
        failing = Text("since %(when)s", when=words.at(endpoint.failing_since, user.zone, now=now))
        return EndpointStanding(name=Text("Failing"), tone="bad", since=failing)
    return EndpointStanding(name=Text("Working"), tone="good")


def describe_endpoint(overview: EndpointOverview, user: User, *, now: datetime) -> EndpointRow:
    endpoint = overview.endpoint
    return EndpointRow(
        id=endpoint.id,
        url=endpoint.url,
        description=endpoint.description,
        standing=describe_standing(endpoint, user, now=now),
        events=format_events(endpoint),
        last=_format_last(overview.last, user, now=now),
    )


def format_events(endpoint: Endpoint) -> str:
    return ", ".join(endpoint.events) if endpoint.events else Text("All events")


def format_duration(milliseconds: int) -> Text:
    """Write how long a request took."""
    if milliseconds < 1000:
        return Text("%(count)s ms", count=milliseconds)
    return Text("%(count)s s", count=round(milliseconds / 1000, 1))


def format_result(attempt: Attempt) -> tuple[Text, str]:
    """Say how a try ended, with its tone."""
    if attempt.error is None:
        return Text("Delivered, %(status)s", status=attempt.status), "good"
    if attempt.status is not None:
        return Text("Failed, %(status)s", status=attempt.status), "bad"
    return Text("Failed, no answer"), "bad"


def describe_delivery(logged: LoggedDelivery, user: User, *, now: datetime) -> DeliveryRow:
    """Describe a try as a line of the log."""
    attempt = logged.attempt
    result, tone = format_result(attempt)
    return DeliveryRow(
        id=attempt.id,
        event_type=logged.event_type,
        result=result,
        tone=tone,
        at=words.at(attempt.at, user.zone, now=now),
        attempt=attempt.attempt,
        took=format_duration(attempt.duration_ms),
        error=show_error(attempt),
        next_try=format_next(logged.next_try_at, now=now),
    )


def show_error(attempt: Attempt) -> str | None:
    """Return the error of a try, as a text that can be translated if it is one of ours."""
    return None if attempt.error is None else show_failure(attempt.error)


def format_next(next_try_at: datetime | None, *, now: datetime) -> Text | None:
    """Say when a failed delivery is tried again."""
    return None if next_try_at is None else words.retry_in(max(next_try_at - now, timedelta()))


def describe_test(test: LastTest, user: User, *, now: datetime) -> tuple[Text, str, Text | None]:
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


def _format_last(last: Attempt | None, user: User, *, now: datetime) -> Text:
    if last is None:
        return Text("Nothing has been sent yet")
    when = words.at(last.at, user.zone, now=now)
    if last.error is None:
        return Text("Last delivery %(when)s, answered %(status)s", when=when, status=last.status)
    if last.status is not None:
        return Text("Last delivery %(when)s failed, answered %(status)s", when=when, status=last.status)
    return Text("Last delivery %(when)s failed, no answer", when=when)


class EventChoice(Struct, frozen=True, kw_only=True):
    type: str
    sentence: str


def group_events() -> list[tuple[str, list[EventChoice]]]:
    """List every event that can be chosen, under the name of its group; one that is new here is told in English."""
    groups: dict[str, list[EventChoice]] = {}
    for one in PUBLISHED:
        kind = one.event.type
        sentence = SENTENCES.get(kind) or (one.event.__doc__ or kind).strip()
        group = kind.partition(".")[0]
        groups.setdefault(GROUPS.get(group, Text("Others")), []).append(EventChoice(type=kind, sentence=sentence))
    return list(groups.items())


class LogQuery(Struct, frozen=True, kw_only=True):
    """The filter and the page of the log, and what of the address could not be used."""

    filter: DeliveryFilter
    page: int
    form: Form[DeliveryFilter]

    def link(self, path: str, *, page: int) -> str:
        """Write the address of another page of the same log."""
        return f"{list_queries.link(path, {**self.form.values, 'page': page})}#log"

    @property
    def is_narrowed(self) -> bool:
        return any(self.form[name] for name in FIELDS)


def read_log_query(request: Request, user: User) -> LogQuery:
    """Read an address; what can't be understood is left out of the filter, and a wrong day is a fault of its field."""
    values = read_typed(request, FIELDS)
    if values["event"] not in LOGGED_TYPES:
        values["event"] = ""
    if values["result"] not in RESULTS:
        values["result"] = ""
    faults: dict[str, Text] = {}
    span = read_days(values, faults, user)
    wanted = DeliveryFilter(event_type=values["event"] or None, is_delivered=RESULTS.get(values["result"]), span=span)
    return LogQuery(filter=wanted, page=read_page(request), form=Form(values=values, faults=faults))
