"""The fake over HTTP: the login server, Graph under its tokens, and the faults that a test gives to its answers."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

from msgspec.structs import replace

from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock
from tests.support.fake_microsoft.delta import Deltas, read_window
from tests.support.fake_microsoft.errors import (
    GraphRefusal,
    Preferences,
    bad_request,
    read_body,
    read_preferences,
    read_query,
    refuse,
    select,
    write,
)
from tests.support.fake_microsoft.events import EventChanges, NewEvent, single
from tests.support.fake_microsoft.login import CLIENT_ID, CLIENT_SECRET, TENANT, Access, Login, Person
from tests.support.fake_microsoft.mailbox import GraphCalendar, Mailbox
from tests.support.fake_microsoft.subscriptions import NewSubscription, Renewal, Subscriptions
from tests.support.fake_server import Answer, Fault, FaultKind, Request, fail, listening

API = "/v1.0/"
LOGIN = re.compile(r"/([\w.-]+)/oauth2/v2\.0/(authorize|token)")
DEFAULT_PAGE, BIGGEST_PAGE = 10, 1000
LISTS = ("$select", "$expand", "$filter", "$top", "$skip")


class FakeMicrosoft:
    """People, their mailboxes and their consents; time is what the clock says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.login = Login(clock)
        self.subscriptions = Subscriptions(clock)
        self.mailboxes: dict[str, Mailbox] = {}
        self.deltas: dict[str, Deltas] = {}
        self.faults: list[Fault] = []
        """Each is for one request below a path, such as `/v1.0/me/calendars`."""
        self.asked: list[Request] = []
        self.refused: list[tuple[Request, str]] = []
        """What was answered with 400: a client that keeps to the documentation has none."""
        self.answers_take = 0.0
        """Seconds of real time, so that requests can be under way at once."""
        self.is_down = False
        self.url = ""

    def add_mailbox(self, email: str, *, tenant: str = TENANT) -> Mailbox:
        self.login.people[email] = Person(email, tenant)
        self.mailboxes[email] = Mailbox(self.clock, email, tenant=tenant)
        self.deltas[email] = Deltas(self.mailboxes[email], f"{self.url}{API.rstrip('/')}")
        return self.mailboxes[email]

    def configure(self, settings: Settings) -> Settings:
        """Let an operator's settings lead here."""
        return replace(
            settings,
            microsoft_client_id=CLIENT_ID,
            microsoft_client_secret=CLIENT_SECRET,
            microsoft_login_url=self.url,
            microsoft_graph_url=f"{self.url}{API.rstrip('/')}",
        )

    def refuse_next(
        self, status: int, code: str, *, path: str = "", method: str | None = None, retry_after: int | None = None
    ) -> None:
        """Refuse the next request below a path."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        answer = refuse(status, code, headers=headers)
        fault = Fault(FaultKind.STATUS, f"{API}{path}", method, status=status, headers=answer.headers, body=answer.body)
        self.faults.append(fault)

    async def notify(self) -> list[int]:
        """Tell subscribers of all that has changed, over the network."""
        self.subscriptions.collect(self.mailboxes)
        return await self.subscriptions.deliver()

    def take_notices(self) -> list[tuple[str, dict[str, Any]]]:
        """Take the notices of all that has changed, for a test that sends them itself."""
        self.subscriptions.collect(self.mailboxes)
        return self.subscriptions.list_bodies()

    async def serve(self, request: Request) -> Answer | None:
        """Answer one request; None: hang up."""
        if self.is_down:
            return None
        self.asked.append(request)
        fault = next((each for each in self.faults if each.concerns(request)), None)
        if fault is None:
            return await self._answer(request)
        self.faults.remove(fault)
        if fault.kind not in {FaultKind.HOLD, FaultKind.LOSE_ANSWER}:
            return await fail(fault, lambda: refuse(500, "generalException"))
        if fault.release is not None:
            await fault.release.wait()
        answer = await self._answer(request)
        return None if fault.kind is FaultKind.LOSE_ANSWER else answer

    async def _answer(self, request: Request) -> Answer:
        path = urlsplit(request.path).path
        login = LOGIN.fullmatch(path)
        if login and login[2] == "authorize":
            return self.login.show_page(request)
        if login and request.method == "POST":
            return self.login.answer(request, login[1])
        access = self.login.find_access(request.key)
        if access is None or not path.startswith(API):
            return refuse(401, "InvalidAuthenticationToken", "Access token has expired or is not yet valid.")
        mailbox = self.mailboxes[access.email]
        mailbox.at_once += 1
        mailbox.most_at_once = max(mailbox.most_at_once, mailbox.at_once)
        try:
            mailbox.check_rate()
            if self.answers_take:
                await asyncio.sleep(self.answers_take)
            return await self._carry_out(request, path.removeprefix(API), access)
        except GraphRefusal as refusal:
            if refusal.answer.status == 400:
                self.refused.append((request, str(refusal)))
            return refusal.answer
        finally:
            mailbox.at_once -= 1

    async def _carry_out(self, request: Request, path: str, access: Access) -> Answer:
        mailbox = self.mailboxes[access.email]
        mailbox.finish_meetings()
        preferences = read_preferences(request)
        parts = [unquote(each) for each in path.split("/")]
        _check_scope(access, "User.Read" if parts == ["me"] else "Calendars.ReadWrite")
        if parts[0] == "subscriptions":
            return await self._subscribe(request, parts[1:], mailbox, preferences)
        # Events of a calendar without a window have a delta in the beta version only.
        if "events" in parts[-2:] and parts[-1] != "delta":
            return self._serve_events(request, parts, mailbox, preferences)
        match (request.method, *parts):
            case ("GET", "me"):
                return write(200, select(read_query(request, ("$select",)), _show_person(mailbox)))
            case ("GET", "me", "calendars"):
                return self._list_calendars(request, mailbox, preferences)
            case ("GET", "me", "calendars", ref):
                return write(200, select(read_query(request, ("$select",)), mailbox.show_calendar(ref)))
            case ("GET", "me", "calendars", ref, "calendarView", *rest) if rest in ([], ["delta"]):
                return self._show_view(request, ref, mailbox, preferences, is_delta=bool(rest))
        raise bad_request(f"Resource not found for the segment: {request.method} {path}")

    def _serve_events(self, request: Request, parts: list[str], mailbox: Mailbox, preferences: Preferences) -> Answer:
        match (request.method, *parts):
            case ("GET", "me", "calendars", ref, "events"):
                return self._list_events(request, ref, mailbox, preferences)
            case ("POST", "me", "calendars", ref, "events"):
                return _create(request, ref, mailbox, preferences)
            case ("GET" | "PATCH" | "DELETE", "me", "events", event):
                return _change(request, mailbox, event, None, preferences)
            case ("GET" | "PATCH" | "DELETE", "me", "calendars", ref, "events", event):
                return _change(request, mailbox, event, ref, preferences)
        raise bad_request(f"Resource not found for the segment: {request.method} {parts}")

    async def _subscribe(self, request: Request, rest: list[str], mailbox: Mailbox, preferences: Preferences) -> Answer:
        read_query(request)
        match (request.method, *rest):
            case ("POST",):
                given = read_body(request, NewSubscription)
                return write(201, await self.subscriptions.create(mailbox, given, preferences))
            case ("GET",):
                return write(200, self.subscriptions.show_all(mailbox))
            case ("GET", name):
                return write(200, self.subscriptions.show_one(mailbox, name))
            case ("PATCH", name):
                return write(200, self.subscriptions.renew(mailbox, name, read_body(request, Renewal)))
            case ("POST", name, "reauthorize"):
                self.subscriptions.reauthorize(mailbox, name)
                return Answer(204, b"")
            case ("DELETE", name):
                self.subscriptions.delete(mailbox, name)
                return Answer(204, b"")
        raise bad_request("not a request of subscriptions")

    def _show_view(
        self, request: Request, ref: str, mailbox: Mailbox, preferences: Preferences, *, is_delta: bool
    ) -> Answer:
        if is_delta:
            query = read_query(request, ("startDateTime", "endDateTime", "$skiptoken", "$deltatoken"))
            return write(200, self.deltas[mailbox.email].answer(ref, query, preferences))
        query = read_query(request, ("startDateTime", "endDateTime", "$select", "$expand", "$top", "$skip"))
        if not {"startDateTime", "endDateTime"} <= set(query):
            raise bad_request("This request requires a time window.")
        found = list(mailbox.list_within(mailbox.get(ref), read_window(query)))
        shown = [select(query, mailbox.show_one(each, query, preferences)) for each in found]
        return self._write_list(request, query, shown, preferences)

    def _list_events(self, request: Request, ref: str, mailbox: Mailbox, preferences: Preferences) -> Answer:
        query = read_query(request, LISTS)
        items = mailbox.list_items(mailbox.get(ref), query)
        shown = [select(query, mailbox.show_one(single(each), query, preferences)) for each in items]
        return self._write_list(request, query, shown, preferences)

    def _list_calendars(self, request: Request, mailbox: Mailbox, preferences: Preferences) -> Answer:
        query = read_query(request, ("$select", "$top", "$skip"))
        # The order means nothing: the default one is last.
        shown = [select(query, mailbox.show_calendar(ref)) for ref in reversed(mailbox.calendars)]
        return self._write_list(request, query, shown, preferences)

    def _write_list(
        self, request: Request, query: dict[str, str], shown: list[dict[str, Any]], preferences: Preferences
    ) -> Answer:
        """Show a page of a list, and where the next one is."""
        if not all(query.get(name, "1").isdecimal() for name in ("$top", "$skip")):
            raise bad_request("$top or $skip is not a number")
        size = int(query.get("$top", preferences.page_size or DEFAULT_PAGE))
        start = int(query.get("$skip", "0"))
        if not 0 < size <= BIGGEST_PAGE:
            raise bad_request("The limit of '1000' for Top query has been exceeded.")
        body: dict[str, Any] = {"value": shown[start : start + size]}
        if start + size < len(shown):
            more = urlencode({**query, "$skip": str(start + size)}, safe="$")
            body["@odata.nextLink"] = f"{self.url}{urlsplit(request.path).path}?{more}"
        return write(200, body)


def _check_scope(access: Access, scope: str) -> None:
    if scope not in access.scopes:
        raise GraphRefusal(403, "ErrorAccessDenied", "Access is denied. Check credentials and try again.")


def _show_person(mailbox: Mailbox) -> dict[str, Any]:
    name = mailbox.email.partition("@")[0]
    return {
        "id": f"48d31887-{name}",
        "displayName": name.capitalize(),
        "mail": mailbox.email,
        "userPrincipalName": mailbox.email,
    }


def _create(request: Request, ref: str, mailbox: Mailbox, preferences: Preferences) -> Answer:
    read_query(request)
    _check_writable(mailbox.get(ref))
    made = mailbox.create(ref, read_body(request, NewEvent))
    return _write_event(mailbox, made.immutable_id, 201, preferences)


def _change(request: Request, mailbox: Mailbox, event: str, calendar: str | None, preferences: Preferences) -> Answer:
    if request.method == "GET":
        query = read_query(request, ("$select", "$expand"))
        found = mailbox.find_instance(event, calendar=calendar)
        shown = select(query, mailbox.show_one(found, query, preferences))
        return write(200, shown, ETag=found.item.etag)
    read_query(request)
    holder, item = mailbox.find(event, calendar=calendar)
    if event not in {item.immutable_id, item.plain_id}:
        raise bad_request("only whole events are changed here")
    _check_writable(mailbox.get(holder))
    if request.headers.get("if-match") not in {None, "*", item.etag}:
        raise GraphRefusal(412, "ErrorIrresolvableConflict", "The send or update operation could not be performed.")
    if request.method == "DELETE":
        mailbox.delete(holder, item)
        return Answer(204, b"")
    mailbox.change(holder, item, read_body(request, EventChanges))
    return _write_event(mailbox, item.immutable_id, 200, preferences)


def _check_writable(holder: GraphCalendar) -> None:
    if not holder.can_edit:
        raise GraphRefusal(403, "ErrorAccessDenied", "Access is denied. Check credentials and try again.")


def _write_event(mailbox: Mailbox, ref: str, status: int, preferences: Preferences) -> Answer:
    """Show what was written: extended properties only to who asks for them by a GET."""
    found = mailbox.find_instance(ref)
    return write(status, mailbox.show_one(found, {}, preferences), ETag=found.item.etag)


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[FakeMicrosoft]:
    """Run a Microsoft on a free port of loopback."""
    fake = FakeMicrosoft(clock)
    async with listening(fake.serve) as fake.url:
        yield fake
