"""The fake over HTTP: tokens, the API under them, and the faults that a test gives to its next answers."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec.structs import replace

from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock
from tests.support.fake_google import discovery
from tests.support.fake_google.account import GoogleAccount, GoogleCalendar
from tests.support.fake_google.consents import CLIENT_ID, CLIENT_SECRET, Access, Consents
from tests.support.fake_google.errors import GoogleRefusal, refuse
from tests.support.fake_server import Answer, Fault, FaultKind, Request, fail, listening

API, TOKEN, AUTH = "/calendar/v3/", "/token", "/auth"
OWN_ID = re.compile(r"[0-9a-v]{5,1024}")


class FakeGoogle:
    """Accounts, consents and tokens; time is what the clock says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.consents = Consents(clock)
        self.accounts: dict[str, GoogleAccount] = {}
        self.faults: list[Fault] = []
        """Each is for one request below a path, such as `/calendar/v3/calendars`."""
        self.asked: list[Request] = []
        self.is_down = False
        self.url = ""

    def add_account(self, email: str) -> GoogleAccount:
        self.accounts[email] = GoogleAccount(self.clock, email)
        return self.accounts[email]

    def configure(self, settings: Settings) -> Settings:
        """Let an operator's settings lead here."""
        return replace(
            settings,
            google_client_id=CLIENT_ID,
            google_client_secret=CLIENT_SECRET,
            google_auth_url=f"{self.url}{AUTH}",
            google_token_url=f"{self.url}{TOKEN}",
            google_api_url=f"{self.url}{API.rstrip('/')}",
        )

    def refuse_next(self, status: int, reason: str, *, path: str = "", method: str | None = None) -> None:
        """Refuse the next request below a path."""
        body = refuse(status, reason).body
        self.faults.append(Fault(FaultKind.STATUS, f"{API}{path}", method, status=status, body=body))

    async def serve(self, request: Request) -> Answer | None:
        """Answer one request; None: hang up."""
        if self.is_down:
            return None
        self.asked.append(request)
        fault = next((each for each in self.faults if each.concerns(request)), None)
        if fault is None:
            return self._answer(request)
        self.faults.remove(fault)
        return await fail(fault, lambda: self._answer(request))

    def _answer(self, request: Request) -> Answer:
        path = urlsplit(request.path).path
        if path == AUTH:
            return self.consents.show_page(request)
        if path == TOKEN and request.method == "POST":
            return self.consents.answer(request)
        access = self.consents.find_access(request.key)
        if access is None:
            return refuse(401, "authError", "Invalid Credentials")
        try:
            return self._carry_out(request, path.removeprefix(API), access)
        except GoogleRefusal as refusal:
            return refusal.answer

    def _carry_out(self, request: Request, path: str, access: Access) -> Answer:
        name, parts, method = discovery.find_method(request.method, path)
        query = dict(parse_qsl(urlsplit(request.path).query, keep_blank_values=True, strict_parsing=False))
        discovery.check_query(method, query)
        if not set(access.scopes) & set(method["scopes"]):
            raise GoogleRefusal(403, "insufficientPermissions", "Request had insufficient authentication scopes.")
        account = self.accounts[access.email]
        account.finish_conferences()
        if name == "calendarList.list":
            return _write({"kind": "calendar#calendarList", "items": account.list_calendars()}, query)
        if name in {"channels.stop", "events.watch"}:
            return _change_channel(account, parts, _read_body(request, "Channel"))
        holder = account.get(parts["calendarId"])
        if name == "events.list":
            return _write(account.list_events(holder, query), query)
        if name == "events.get":
            return _write(_get(holder, parts["eventId"]), query)
        if holder.role not in {"writer", "owner"}:
            raise GoogleRefusal(403, "requiredAccessLevel", "You need to have writer access to this calendar.")
        if name == "events.insert":
            made = _insert(account, holder, _read_body(request))
            account.tell(None, made, how=query.get("sendUpdates", "none"))
            return _write(made, query)
        event = _get(holder, parts["eventId"])
        return self._change(name, account, holder, event, request, query)

    def _change(
        self,
        name: str,
        account: GoogleAccount,
        holder: GoogleCalendar,
        event: dict[str, Any],
        request: Request,
        query: dict[str, str],
    ) -> Answer:
        if name == "events.delete" and event["status"] == "cancelled":
            raise GoogleRefusal(410, "deleted", "Resource has been deleted")
        if request.headers.get("if-match") not in {None, event["etag"]}:
            raise GoogleRefusal(412, "conditionNotMet", "Precondition Failed")
        if name == "events.delete":
            gone = account.store(holder, {**event, "status": "cancelled"})
            account.tell(event, gone, how=query.get("sendUpdates", "none"))
            return Answer(204, b"")
        body = _read_body(request)
        kept = event if name == "events.patch" else {"iCalUID": event["iCalUID"], "status": "confirmed"}
        conference = account.take_conference(kept, body, version=int(query.get("conferenceDataVersion", "0")))
        changed = {**kept, **body, "id": event["id"], "conferenceData": conference}
        stored = account.store(holder, changed)
        account.tell(event, stored, how=query.get("sendUpdates", "none"))
        return _write(stored, query)


def _change_channel(account: GoogleAccount, parts: dict[str, str], body: dict[str, Any]) -> Answer:
    if "calendarId" not in parts:
        account.stop(body)
        return Answer(204, b"")
    account.get(parts["calendarId"])
    return _write(account.watch(parts["calendarId"], body), {})


def _get(holder: GoogleCalendar, event_id: str) -> dict[str, Any]:
    if event_id not in holder.events:
        raise GoogleRefusal(404, "notFound", "Not Found")
    return holder.events[event_id]


def _insert(account: GoogleAccount, holder: GoogleCalendar, body: dict[str, Any]) -> dict[str, Any]:
    if "iCalUID" in body and "id" in body:
        raise GoogleRefusal(400, "invalid", "id or iCalUID, not both")
    if not OWN_ID.fullmatch(body.get("id", "generated0")):
        raise GoogleRefusal(400, "invalid", "Invalid resource id value.")
    if body.get("id") in holder.events:
        raise GoogleRefusal(409, "duplicate", "The requested identifier already exists.")
    if not {"start", "end"} <= body.keys():
        raise GoogleRefusal(400, "required", "Missing end time.")
    return account.store(holder, {"iCalUID": f"{body['id']}@google.com", "status": "confirmed", **body})


def _read_body(request: Request, schema: str = "Event") -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request.body)
    discovery.check_body(schema, body)
    return body


def _write(body: Any, query: dict[str, str]) -> Answer:
    shown = discovery.apply_fields(query["fields"], body) if "fields" in query else body
    return Answer(200, json.dumps(shown).encode(), {"Content-Type": "application/json; charset=UTF-8"})


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[FakeGoogle]:
    """Run a Google on a free port of loopback."""
    fake = FakeGoogle(clock)
    async with listening(fake.serve) as fake.url:
        yield fake
