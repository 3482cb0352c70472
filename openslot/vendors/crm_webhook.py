"""A CRM behind an address of the host's own: each verb is one signed POST of JSON (docs/crm.md)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from openslot import __version__
from openslot.domains.crm.models import CrmMeeting, CrmPerson
from openslot.domains.crm.ports import (
    CrmAccount,
    CrmAccountRefused,
    CrmBusy,
    CrmCredentials,
    CrmFault,
    CrmField,
    CrmMeetingGone,
    CrmRefused,
    CrmTokenRefused,
    CrmUnavailable,
)
from openslot.domains.crm.words import ANSWERED, REFUSED_WITHOUT_REASON, UNREADABLE
from openslot.domains.webhooks.rules import is_taken, new_secret, read_retry_after, signed_headers
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, OutboundResponse
from openslot.platform.i18n import Text

WITHIN = timedelta(seconds=15)
MAX_ANSWER = 64 * 1024
LONGEST_REASON = 300
LONGEST_ID = 200
LONGEST_NAME = 100

Now = Callable[[], datetime]
A = TypeVar("A")


class LogData(Struct, frozen=True, rename="camel"):
    person_id: str
    meeting: CrmMeeting


class ChangeData(Struct, frozen=True, rename="camel"):
    meeting_id: str
    meeting: CrmMeeting


class RequestBody(Struct, frozen=True):
    type: str
    data: Struct | None


class IdAnswer(Struct, frozen=True):
    id: str | None = None


class CheckAnswer(Struct, frozen=True):
    name: str | None = None


class RefusalAnswer(Struct, frozen=True):
    error: str


class WebhookCrm:
    """Implements the port `Crm`; the account is the address, the secret signs."""

    def __init__(self, outbound: Outbound, credentials: CrmCredentials, *, now: Now) -> None:
        try:
            outbound.check_url(credentials.account)
        except OutboundRefused as refused:
            raise CrmAccountRefused(refused.sentence) from None
        self._outbound = outbound
        self._url = credentials.account
        self._secret = credentials.secret
        self._now = now

    async def check(self) -> CrmAccount:
        answer = await self._ask("account.check", None, str(new_id()), CheckAnswer)
        host = urlsplit(self._url).hostname or self._url
        name = " ".join((answer.name or "").split())[:LONGEST_NAME]
        return CrmAccount(account=self._url, label=f"{name} ({host})" if name else host)

    async def upsert_person(self, person: CrmPerson, *, key: str) -> str:
        answer = await self._ask("person.upsert", person, key, IdAnswer)
        return (answer.id or person.email)[:LONGEST_ID]

    async def log_meeting(self, meeting: CrmMeeting, *, person_id: str, key: str) -> str:
        answer = await self._ask("meeting.log", LogData(person_id, meeting), key, IdAnswer)
        return (answer.id or str(meeting.booking_id))[:LONGEST_ID]

    async def change_meeting(self, meeting_id: str, meeting: CrmMeeting, *, key: str) -> None:
        await self._ask("meeting.change", ChangeData(meeting_id, meeting), key, IdAnswer)

    async def close(self) -> None:
        """Close nothing: each request has a connection of its own."""

    async def _ask(self, type_: str, data: Struct | None, key: str, answer: type[A]) -> A:
        body = msgspec.json.encode(RequestBody(type_, data))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"Openslot-CRM/{__version__}",
            "Idempotency-Key": key,
            **signed_headers(key, body, secrets=(self._secret,), at=self._now()),
        }
        try:
            response = await self._outbound.send(
                "POST", self._url, headers=headers, body=body, within=WITHIN, at_most=MAX_ANSWER
            )
        except (OutboundFailed, OutboundRefused) as fault:
            raise CrmUnavailable(fault.sentence) from None
        if not is_taken(response.status):
            raise _describe(response, type_, now=self._now())
        try:
            return msgspec.json.decode(response.body or b"{}", type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise CrmUnavailable(UNREADABLE) from None


class WebhookVendor:
    """Implements the port `CrmVendor`."""

    name = "webhook"
    label = "Webhook"
    account = CrmField(
        label=Text("Address"),
        hint=Text("The https address that gets a signed request for each person and each meeting."),
        placeholder="https://crm.example.com/openslot",
    )
    secret = None

    def __init__(self, now: Now = lambda: datetime.now(UTC)) -> None:
        self._now = now

    def make_secret(self) -> str:
        return new_secret()

    def open(self, outbound: Outbound, settings: Settings, credentials: CrmCredentials) -> WebhookCrm:
        del settings
        return WebhookCrm(outbound, credentials, now=self._now)


def _describe(response: OutboundResponse, type_: str, *, now: datetime) -> CrmFault:
    """Turn an answer that is no success into a fault."""
    status, wished = response.status, read_retry_after(response.headers.get("retry-after"), now=now)
    if status == 429 or (status == 503 and wished is not None):
        return CrmBusy(wished)
    if status in {401, 403}:
        return CrmTokenRefused(ANSWERED.fill(status=status))
    if type_ == "meeting.change" and status in {404, 410}:
        return CrmMeetingGone(ANSWERED.fill(status=status))
    if not 400 <= status < 500 or status in {404, 408, 425}:
        return CrmUnavailable(ANSWERED.fill(status=status))
    try:
        said = msgspec.json.decode(response.body, type=RefusalAnswer).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = ""
    reason = "".join(each for each in " ".join(said.split()) if each.isprintable())[:LONGEST_REASON]
    return CrmRefused(reason or REFUSED_WITHOUT_REASON.fill(status=status))
