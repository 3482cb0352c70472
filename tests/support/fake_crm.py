"""A CRM as a state machine: in memory behind the port, and as a receiver of the signed webhook over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from standardwebhooks import Webhook

from openslot.domains.crm.models import CrmMeeting, CrmPerson
from openslot.domains.crm.ports import (
    CrmAccount,
    CrmCredentials,
    CrmField,
    CrmMeetingGone,
    CrmTokenRefused,
    CrmUnavailable,
)
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from tests.support.fake_server import Answer, Fault, FaultKind, Request, fail, listening


class SeenMeeting(Struct, frozen=True, kw_only=True):
    """A meeting as somebody sees it in the CRM."""

    id: str
    person_id: str
    meeting: CrmMeeting


class CrmState:
    """What a CRM keeps: one person for an address, one meeting for a booking."""

    def __init__(self) -> None:
        self.people: dict[str, tuple[str, CrmPerson]] = {}
        """By address in lower case: the id and the person."""
        self.meetings: dict[UUID, SeenMeeting] = {}
        self.history: list[CrmMeeting] = []
        """Each state of a meeting in the order in which it was written."""
        self.added = 0
        """How many meetings were ever added."""

    def upsert_person(self, person: CrmPerson) -> str:
        email = person.email.lower()
        if email not in self.people:
            self.people[email] = (f"p-{len(self.people) + 1}", person)
        return self.people[email][0]

    def log_meeting(self, person_id: str, meeting: CrmMeeting) -> str:
        known = self.meetings.get(meeting.booking_id)
        if known is None:
            self.added += 1
        id_ = known.id if known else f"m-{self.added}"
        self._keep(SeenMeeting(id=id_, person_id=person_id, meeting=meeting))
        return id_

    def change_meeting(self, meeting_id: str, meeting: CrmMeeting) -> bool:
        known = next((each for each in self.meetings.values() if each.id == meeting_id), None)
        if known is not None:
            self._keep(msgspec.structs.replace(known, meeting=meeting))
        return known is not None

    def _keep(self, seen: SeenMeeting) -> None:
        self.meetings[seen.meeting.booking_id] = seen
        self.history.append(seen.meeting)


class FakeCrm:
    """Implements the port `Crm` in memory; faults are raised by the next calls, in order."""

    def __init__(self, state: CrmState | None = None) -> None:
        self.state = state or CrmState()
        self.faults: list[Exception] = []
        self.lost_answers: list[str] = []
        """Whose next answer is lost: the verb, or nothing for any."""
        self.delay = 0.0
        """How many seconds an answer takes."""
        self.keys: list[tuple[str, str]] = []
        """The verb and the key of each call."""
        self.is_revoked = False
        self.max_inside = 0
        self._inside = 0

    async def check(self) -> CrmAccount:
        await self._begin("check", "")
        return CrmAccount(account="fake-1", label="Fake CRM")

    async def upsert_person(self, person: CrmPerson, *, key: str) -> str:
        await self._begin("upsert_person", key)
        return self._answer("upsert_person", self.state.upsert_person(person))

    async def log_meeting(self, meeting: CrmMeeting, *, person_id: str, key: str) -> str:
        await self._begin("log_meeting", key)
        return self._answer("log_meeting", self.state.log_meeting(person_id, meeting))

    async def change_meeting(self, meeting_id: str, meeting: CrmMeeting, *, key: str) -> None:
        await self._begin("change_meeting", key)
        if not self.state.change_meeting(meeting_id, meeting):
            raise CrmMeetingGone
        self._answer("change_meeting", "")

    async def close(self) -> None: ...

    async def _begin(self, verb: str, key: str) -> None:
        self.keys.append((verb, key))
        self._inside += 1
        self.max_inside = max(self.max_inside, self._inside)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self._inside -= 1
        if self.is_revoked:
            raise CrmTokenRefused
        if self.faults:
            raise self.faults.pop(0)

    def _answer(self, verb: str, told: str) -> str:
        if self.lost_answers and self.lost_answers[0] in {"", verb}:
            del self.lost_answers[0]
            raise CrmUnavailable("The CRM closed the connection.")
        return told


class FakeVendor:
    """Implements the port `CrmVendor`: every connection is the same account."""

    name = "fake"
    label = "Fake CRM"
    account = None
    secret = CrmField(label="Token", hint="Any.")

    def __init__(self, crm: FakeCrm) -> None:
        self.crm = crm

    def make_secret(self) -> str:
        raise NotImplementedError

    def open(self, outbound: Outbound, settings: Settings, credentials: CrmCredentials) -> FakeCrm:
        del outbound, settings, credentials
        return self.crm


class WebhookReceiver:
    """The address that a developer writes after docs/crm.md: verifies, and keeps what it gets."""

    def __init__(self, secret: str = "") -> None:
        self.state = CrmState()
        self.secret = secret
        self.url = ""
        self.name: str | None = "Sales"
        self.gives_ids = True
        self.faults: list[Fault] = []
        self.asked: list[Request] = []
        self.is_revoked = False

    async def serve(self, request: Request) -> Answer | None:
        self.asked.append(request)
        if self.faults:
            return await fail(self.faults.pop(0), lambda: self._answer(request))
        return self._answer(request)

    def _answer(self, request: Request) -> Answer:
        if self.is_revoked or (self.secret and not self._is_signed(request)):
            return _write(401, {"error": "the signature is not valid"})
        asked = json.loads(request.body)
        return self._carry_out(asked["type"], asked["data"])

    def _is_signed(self, request: Request) -> bool:
        at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
        signature = Webhook(self.secret).sign(request.headers["webhook-id"], at, request.body)
        return signature in request.headers["webhook-signature"].split()

    def _carry_out(self, type_: str, data: dict[str, Any]) -> Answer:
        if type_ == "account.check":
            return _write(200, {"name": self.name} if self.name else {})
        if type_ == "person.upsert":
            return self._tell(self.state.upsert_person(msgspec.convert(data, CrmPerson)))
        meeting = msgspec.convert(data["meeting"], CrmMeeting)
        if type_ == "meeting.log":
            return self._tell(self.state.log_meeting(data["personId"], meeting))
        return self._tell("") if self.state.change_meeting(data["meetingId"], meeting) else _write(404, {})

    def _tell(self, id_: str) -> Answer:
        return _write(200, {"id": id_}) if self.gives_ids and id_ else Answer(204, b"")


@asynccontextmanager
async def receiving_crm() -> AsyncIterator[WebhookReceiver]:
    """Run a receiver on a free port of loopback."""
    receiver = WebhookReceiver()
    async with listening(receiver.serve) as address:
        receiver.url = f"{address}/openslot"
        yield receiver


def refusing(reason: str) -> Fault:
    return Fault(FaultKind.STATUS, status=422, body=json.dumps({"error": reason}).encode())


def busy(seconds: int) -> Fault:
    return Fault(FaultKind.STATUS, status=429, headers={"Retry-After": str(seconds)})


def _write(status: int, told: Any) -> Answer:
    return Answer(status, json.dumps(told).encode(), {"Content-Type": "application/json"})
