"""The fake over HTTP: tokens, scopes and limits, and the faults that a test gives to its next answers."""

import re
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec.structs import replace

from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock
from tests.support.fake_hubspot import portal as portals
from tests.support.fake_hubspot.portal import Portal, Record
from tests.support.fake_hubspot.shapes import HubSpotRefusal, read, read_property, write
from tests.support.fake_server import Answer, Fault, FaultKind, Request, fail, listening

TOKEN = "pat-eu1-6f9c1f1e-5d2b-4a77-9c55-0123456789ab"
VERSION = "2026-09"
OBJECTS = f"/crm/objects/{VERSION}/"
RECORDS = re.compile(rf"{OBJECTS}(contacts|meetings)(?:/(.+))?")
PROPERTIES = re.compile(rf"/crm/properties/{VERSION}/(contacts|meetings)(?:/([^/]+))?")
ASSOCIATION = re.compile(rf"{OBJECTS}meetings/(\d+)/associations/default/contacts/(\d+)")
OWNERS = f"/crm/owners/{VERSION}"
ACCOUNT = f"/account-info/{VERSION}/details"
TEN_SECONDS, SECOND = timedelta(seconds=10), timedelta(seconds=1)


class FakeHubSpot:
    """A portal behind its tokens; time is what the clock says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.portal = Portal(clock)
        self.tokens = {TOKEN}
        self.faults: list[Fault] = []
        """Each is for one request below a path, such as `/crm/objects/2026-09/meetings`."""
        self.asked: list[Request] = []
        self.is_down = False
        self.url = ""
        self.most_in_ten_seconds, self.most_searches_a_second, self.most_in_a_day = 100, 5, 250_000
        self._day, self._of_day = date.min, 0
        self._recent: deque[datetime] = deque()
        self._searched: list[datetime] = []

    def configure(self, settings: Settings) -> Settings:
        """Let an operator's settings lead here."""
        return replace(settings, hubspot_url=self.url)

    def refuse_next(self, status: int, *, path: str = "", method: str | None = None) -> None:
        """Answer the next request below a path with a status."""
        self.faults.append(Fault(FaultKind.STATUS, f"/crm/{path}", method, status=status, body=b"<html>"))

    def lose_next(self, path: str, *, method: str | None = None) -> None:
        """Do the next request below a path, and lose the answer."""
        self.faults.append(Fault(FaultKind.LOSE_ANSWER, f"{OBJECTS}{path}", method))

    async def serve(self, request: Request) -> Answer | None:
        """Answer one request; None: hang up."""
        if self.is_down:
            return None
        self.asked.append(request)
        is_search = urlsplit(request.path).path.endswith("/search")
        concerned = (each for each in self.faults if each.concerns(request))
        fault = next((each for each in concerned if not (is_search and each.kind is FaultKind.LOSE_ANSWER)), None)
        if fault is None:
            return self._answer(request)
        self.faults.remove(fault)
        return await fail(fault, lambda: self._answer(request))

    def _answer(self, request: Request) -> Answer:
        place = urlsplit(request.path)
        try:
            self._check_token(request)
            self._count(is_search=place.path.endswith("/search"))
            status, body = self._carry_out(request, unquote(place.path), dict(parse_qsl(place.query)))
        except HubSpotRefusal as refusal:
            return write(refusal.status, refusal.body, self._tell_limits())
        headers = {} if place.path.endswith("/search") else self._tell_limits()
        return write(status, body, headers)

    def _check_token(self, request: Request) -> None:
        if request.key not in self.tokens:
            raise HubSpotRefusal(401, "INVALID_AUTHENTICATION", "Authentication credentials not found.")

    def _count(self, *, is_search: bool) -> None:
        now = self.clock()
        self._forget(now)
        if self._of_day >= self.most_in_a_day:
            raise _limit("DAILY")
        if len(self._recent) >= self.most_in_ten_seconds:
            raise _limit("TEN_SECONDLY_ROLLING")
        self._of_day += 1
        self._recent.append(now)
        if is_search:
            self._searched = [each for each in self._searched if each > now - SECOND]
            if len(self._searched) >= self.most_searches_a_second:
                raise _limit("SECONDLY")
            self._searched.append(now)

    def _forget(self, now: datetime) -> None:
        """Forget requests that no limit counts any more; hours of them are not looked through with each."""
        if now.date() != self._day:
            self._day, self._of_day = now.date(), 0
        while self._recent and self._recent[0] <= now - TEN_SECONDS:
            self._recent.popleft()

    def _tell_limits(self) -> dict[str, str]:
        self._forget(self.clock())
        told = {"Daily": self.most_in_a_day, "Daily-Remaining": self.most_in_a_day - self._of_day}
        told |= {"Interval-Milliseconds": 10_000, "Max": self.most_in_ten_seconds}
        told |= {"Remaining": self.most_in_ten_seconds - len(self._recent)}
        return {f"X-HubSpot-RateLimit-{name}": str(number) for name, number in told.items()}

    def _carry_out(self, request: Request, path: str, query: dict[str, str]) -> tuple[int, Any]:
        """Do what the dated paths offer; others are not there."""
        if path == ACCOUNT and request.method == "GET":
            return 200, {"portalId": 145_911, "uiDomain": "app-eu1.hubspot.com", "timeZone": "Europe/Berlin"}
        if path == OWNERS and request.method == "GET":
            self._check_scopes(portals.OWNERS)
            return 200, self._list_owners(query)
        if match := PROPERTIES.fullmatch(path):
            return self._answer_properties(request, match[1], match[2])
        if (match := ASSOCIATION.fullmatch(path)) and request.method == "PUT":
            self._check_scopes(portals.WRITE)
            return 200, self._associate(match[1], match[2])
        if match := RECORDS.fullmatch(path):
            is_read = request.method == "GET" or match[2] == "search"
            self._check_scopes(portals.READ if is_read else portals.WRITE)
            return self._answer_records(request, match[1], match[2] or "", query)
        raise HubSpotRefusal(404, "OBJECT_NOT_FOUND", f"no {request.method} {path}")

    def _check_scopes(self, scope: str) -> None:
        if scope not in self.portal.scopes:
            message = "One or more of the following scopes are required."
            errors = [{"message": message, "context": {"requiredGranularScopes": [scope]}}]
            told = "This app hasn't been granted all required scopes to make this call."
            raise HubSpotRefusal(403, "MISSING_SCOPES", told, errors)

    def _answer_properties(self, request: Request, kind: str, name: str | None) -> tuple[int, Any]:
        known = self.portal.definitions[kind]
        if request.method == "POST" and name is None:
            self._check_scopes(portals.SCHEMAS)
            return 201, self.portal.define(kind, read_property(request.body))
        self._check_scopes(portals.READ)
        if name is None:
            return 200, {"results": list(known.values())}
        if name not in known:
            raise HubSpotRefusal(404, "OBJECT_NOT_FOUND", f"The property {name} does not exist")
        return 200, known[name]

    def _answer_records(self, request: Request, kind: str, rest: str, query: dict[str, str]) -> tuple[int, Any]:
        match request.method, rest:
            case "POST", "":
                body = read(request.body, "SimplePublicObjectInputForCreate")
                return 201, self._show(self.portal.create(kind, body["properties"]), {})
            case "POST", "search":
                return 200, self._search(kind, read(request.body, "PublicObjectSearchRequest"))
            case "POST", "batch/upsert":
                return self._upsert(kind, read(request.body, "BatchInputSimplePublicObjectBatchInputUpsert"))
            case "GET", "":
                found = list(self.portal.records[kind].values())[: int(query.get("limit", "10"))]
                return 200, {"results": [self._show(each, query) for each in found]}
            case "GET", _:
                return 200, self._show(self._get(kind, query.get("idProperty", "hs_object_id"), rest), query)
            case "PATCH", _:
                body = read(request.body, "SimplePublicObjectInput")
                record = self._get(kind, query.get("idProperty", "hs_object_id"), rest)
                return 200, self._show(self.portal.update(kind, record, body["properties"]), {})
        raise HubSpotRefusal(405, "METHOD_NOT_ALLOWED", "HTTP 405 Method Not Allowed")

    def _get(self, kind: str, name: str, value: str) -> Record:
        record = self.portal.find(kind, name, value)
        if record is None:
            raise HubSpotRefusal(404, "OBJECT_NOT_FOUND", "Object not found.  objectId are usually numeric.")
        return record

    def _upsert(self, kind: str, body: dict[str, Any]) -> tuple[int, Any]:
        if not 0 < len(body["inputs"]) <= 100:
            raise HubSpotRefusal(400, "VALIDATION_ERROR", "a batch has 1 to 100 inputs")
        results, errors = [], []
        for wanted in body["inputs"]:
            try:
                record, is_new = self.portal.upsert(kind, wanted)
            except HubSpotRefusal as refusal:
                if not self.portal.tells_batch_errors_apart:
                    raise
                errors.append({**refusal.body, "context": {"ids": [wanted["id"]]}})
            else:
                results.append({**self._show(record, {}), "new": is_new})
        at = self.clock().isoformat()
        told: dict[str, Any] = {"status": "COMPLETE", "results": results, "startedAt": at, "completedAt": at}
        return (207, {**told, "numErrors": len(errors), "errors": errors}) if errors else (200, told)

    def _search(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        (group,) = body["filterGroups"]
        (asked,) = group["filters"]
        if asked["operator"] != "EQ":
            raise HubSpotRefusal(400, "VALIDATION_ERROR", "our portal searches for what is equal")
        found = self.portal.search(kind, asked["propertyName"], asked["value"])
        return {"total": len(found), "results": [self._show(each, {}) for each in found[: body.get("limit", 10)]]}

    def _show(self, record: Record, query: dict[str, str]) -> dict[str, Any]:
        asked = query["properties"].split(",") if "properties" in query else list(record.properties)
        shown: dict[str, str | None] = {name: record.properties.get(name) for name in asked}
        at = record.created_at.isoformat()
        shown |= {"hs_object_id": record.id, "createdate": at}
        return {"id": record.id, "properties": shown, "createdAt": at, "updatedAt": at, "archived": False}

    def _associate(self, meeting: str, contact: str) -> dict[str, Any]:
        self._get("meetings", "hs_object_id", meeting)
        self._get("contacts", "hs_object_id", contact)
        self.portal.associations.add((meeting, contact))
        spec = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 200}
        result = {"from": {"id": meeting}, "to": {"id": contact}, "associationSpec": spec}
        return {"status": "COMPLETE", "results": [result]}

    def _list_owners(self, query: dict[str, str]) -> dict[str, Any]:
        wanted = query.get("email", "").lower()
        found = [(email, owner) for email, owner in self.portal.owners.items() if wanted in {"", email.lower()}]
        return {
            "results": [{"id": owner, "email": email, "type": "PERSON", "archived": False} for email, owner in found]
        }


def _limit(policy: str) -> HubSpotRefusal:
    refusal = HubSpotRefusal(429, "RATE_LIMITS", f"You have reached your {policy.lower()} limit.")
    refusal.body |= {"errorType": "RATE_LIMIT", "policyName": policy}
    return refusal


@asynccontextmanager
async def serving(clock: Clock) -> AsyncIterator[FakeHubSpot]:
    """Run a HubSpot on a free port of loopback."""
    fake = FakeHubSpot(clock)
    async with listening(fake.serve) as fake.url:
        yield fake
