"""HubSpot: contacts by email address, and a meeting for each booking, with the token of one portal."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from html import escape
from urllib.parse import quote

import msgspec
from msgspec import Struct

from openslot.domains.contacts.models import FIELDS_IN_CRM
from openslot.domains.crm.models import CrmMeeting, CrmPerson, MeetingOutcome
from openslot.domains.crm.ports import CrmAccount, CrmCredentials, CrmField, CrmRefused, CrmTokenRefused, CrmUnavailable
from openslot.domains.crm.words import UNREADABLE
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.shapes import with_fields
from openslot.platform.i18n import Text
from openslot.vendors.hubspot.client import VERSION, HubSpotClient, NotFoundThere, ScopeMissing

CONTACTS, MEETINGS = f"/crm/objects/{VERSION}/contacts", f"/crm/objects/{VERSION}/meetings"
PROPERTIES, OWNERS = f"/crm/properties/{VERSION}", f"/crm/owners/{VERSION}"
ACCOUNT = f"/account-info/{VERSION}/details"
SCOPES = "crm.objects.contacts.read, crm.objects.contacts.write, crm.objects.owners.read, crm.schemas.contacts.write"
# The unique property of meetings that has the id of the booking.
OWN = "openslot_booking"
ADDRESS = "hs_meeting_external_url"
# How long a meeting that was created can be missing from what is searched.
INDEXED_WITHIN = timedelta(seconds=30)
LONGEST_TOKEN = 200
LONGEST_VALUE = 5_000
MAX_PROPERTIES = 1_000


class MovedOutcome(StrEnum):
    """What the outcome of a meeting is after it was moved: reports of scheduled meetings leave out rescheduled ones."""

    SCHEDULED = "SCHEDULED"
    RESCHEDULED = "RESCHEDULED"


@with_fields((each.name, str, each.crm_property) for each in FIELDS_IN_CRM)
class HubSpotOptions(Struct, frozen=True, kw_only=True):
    """What the owner of a connection has chosen; an empty name writes nothing."""

    first_name: str = "firstname"
    last_name: str = "lastname"
    answers: dict[str, str] = {}
    """Properties by the key of the question."""
    moved: MovedOutcome = MovedOutcome.SCHEDULED


class Portal(Struct, frozen=True, rename="camel"):
    portal_id: int
    ui_domain: str = "app.hubspot.com"


class FoundRecord(Struct, frozen=True):
    id: str
    properties: dict[str, str | None] = {}


class FoundRecords(Struct, frozen=True):
    results: tuple[FoundRecord, ...] = ()


class Modification(Struct, frozen=True, rename="camel"):
    read_only_value: bool = False


class Property(Struct, frozen=True, rename="camel"):
    """A property of a kind of record, as the portal has it."""

    name: str
    label: str = ""
    type: str = ""
    field_type: str = ""
    group_name: str = ""
    hidden: bool = False
    calculated: bool = False
    archived: bool = False
    has_unique_value: bool = False
    modification_metadata: Modification = Modification()

    @property
    def takes_text(self) -> bool:
        """Whether any text can be written into it."""
        is_open = not (self.hidden or self.calculated or self.archived or self.modification_metadata.read_only_value)
        return is_open and self.type == "string" and self.name not in {"email", OWN}


class Properties(Struct, frozen=True):
    results: tuple[Property, ...] = ()


class Nothing(Struct, frozen=True):
    """What is not read."""


class HubSpot:
    """Implements the port `Crm`."""

    def __init__(self, outbound: Outbound, url: str, credentials: CrmCredentials) -> None:
        self._client = HubSpotClient(outbound, url, credentials.secret)
        self._token = credentials.secret
        self._options = msgspec.convert(credentials.options, HubSpotOptions)

    async def check(self) -> CrmAccount:
        """Read as every booking does; an empty batch writes nothing and tells whether contacts can be written."""
        account = await self._find_account()
        await self._client.get(CONTACTS, FoundRecords, {"limit": "1"})
        try:
            await self._client.send("POST", f"{CONTACTS}/batch/upsert", Nothing, {"inputs": []})
        except CrmRefused as refused:
            if isinstance(refused, ScopeMissing):
                raise
        return account

    async def upsert_person(self, person: CrmPerson, *, key: str) -> str:
        """Write what the contact does not have; who fills it in between the two requests is overwritten."""
        del key
        wanted = self._list_values(person)
        found = await self._find_contact(person.email, wanted)
        if found is None:
            return await self._upsert(CONTACTS, "email", person.email, {"email": person.email, **wanted})
        missing = {name: value for name, value in wanted.items() if not found.properties.get(name)}
        if missing:
            await self._client.send("PATCH", f"{CONTACTS}/{found.id}", FoundRecord, {"properties": missing})
        return found.id

    async def log_meeting(self, meeting: CrmMeeting, *, person_id: str, key: str) -> str:
        del key
        wanted = _describe(meeting) | self._describe_state(meeting)
        if owner := await self._find_owner(meeting.host_email):
            wanted["hubspot_owner_id"] = owner
        if await self._has_own_property():
            booking_id = str(meeting.booking_id)
            meeting_id = await self._upsert(MEETINGS, OWN, booking_id, {OWN: booking_id, **wanted})
        else:
            meeting_id = await self._find_or_create(meeting, wanted)
        path = f"{MEETINGS}/{meeting_id}/associations/default/contacts/{quote(person_id, safe='')}"
        try:
            await self._client.send("PUT", path, Nothing)
        except NotFoundThere as fault:
            raise CrmUnavailable(fault.args[0]) from None
        return meeting_id

    async def change_meeting(self, meeting_id: str, meeting: CrmMeeting, *, key: str) -> None:
        """Change times, place and outcome; what people edit in HubSpot, such as the title and the notes, stays."""
        del key
        path = f"{MEETINGS}/{quote(meeting_id, safe='')}"
        await self._client.send("PATCH", path, FoundRecord, {"properties": self._describe_state(meeting)})

    async def list_properties(self) -> list[Property]:
        """List the properties of contacts that a text can be written into, by their label."""
        found = await self._client.get(f"{PROPERTIES}/contacts", Properties)
        return sorted((each for each in found.results[:MAX_PROPERTIES] if each.takes_text), key=_by_label)

    async def close(self) -> None:
        await self._client.close()

    async def _find_account(self) -> CrmAccount:
        try:
            portal = await self._client.get(ACCOUNT, Portal)
        except (ScopeMissing, NotFoundThere):
            # Not every kind of token may ask.
            return CrmAccount(account=fingerprint(self._token).hex()[:16], label="HubSpot")
        return CrmAccount(account=str(portal.portal_id), label=f"HubSpot {portal.portal_id}")

    def _list_values(self, person: CrmPerson) -> dict[str, str]:
        """Say which property gets which value; of two for one property the first is written."""
        options = self._options
        first, _, last = person.name.strip().partition(" ")
        given = [
            (options.first_name, first),
            (options.last_name, last),
            *((getattr(options, each.name), getattr(person, each.name) or "") for each in FIELDS_IN_CRM),
            *((options.answers.get(key, ""), value) for key, value in person.answers.items()),
        ]
        wanted: dict[str, str] = {}
        for name, value in given:
            if name and value.strip():
                wanted.setdefault(name, value.strip()[:LONGEST_VALUE])
        return wanted

    async def _find_contact(self, email: str, wanted: Mapping[str, str]) -> FoundRecord | None:
        query = {"idProperty": "email", "properties": ",".join(["email", *wanted])}
        try:
            return await self._client.get(f"{CONTACTS}/{quote(email, safe='')}", FoundRecord, query)
        except NotFoundThere:
            return None

    async def _upsert(self, kind: str, name: str, value: str, properties: Mapping[str, str]) -> str:
        """Write a record by a property whose values are unique, so that two tries can't make two of it."""
        wanted = {"id": value, "idProperty": name, "properties": properties}
        answer = await self._client.send("POST", f"{kind}/batch/upsert", FoundRecords, {"inputs": [wanted]})
        if not answer.results:
            raise CrmUnavailable(UNREADABLE)
        return answer.results[0].id

    async def _find_or_create(self, meeting: CrmMeeting, wanted: Mapping[str, str]) -> str:
        """Look for a meeting that a lost answer has left before another one is created."""
        asked = {"propertyName": ADDRESS, "operator": "EQ", "value": meeting.url}
        query = {"filterGroups": [{"filters": [asked]}], "limit": 1}
        found = await self._client.send("POST", f"{MEETINGS}/search", FoundRecords, query)
        if found.results:
            (present, *_) = found.results
            await self._client.send("PATCH", f"{MEETINGS}/{present.id}", FoundRecord, {"properties": wanted})
            return present.id
        try:
            return (await self._client.send("POST", MEETINGS, FoundRecord, {"properties": wanted})).id
        except CrmUnavailable as fault:
            # It may have been created, and is not found at once.
            raise CrmUnavailable(fault.args[0], after=INDEXED_WITHIN) from None

    async def _has_own_property(self) -> bool:
        """Tell whether meetings have the unique property; it is created if that is allowed."""
        with suppress(NotFoundThere):
            return (await self._client.get(f"{PROPERTIES}/meetings/{OWN}", Property)).has_unique_value
        known = await self._client.get(f"{PROPERTIES}/meetings", Properties)
        group = next((each.group_name for each in known.results if each.name == "hs_meeting_title"), "")
        wanted = {
            "name": OWN,
            "label": "Openslot booking",
            "description": "The booking that this meeting is for, so that it is not created twice.",
            "groupName": group,
            "type": "string",
            "fieldType": "text",
            "hasUniqueValue": True,
        }
        try:
            await self._client.send("POST", f"{PROPERTIES}/meetings", Property, wanted)
        except CrmRefused:
            # The token may not create properties, or the portal has as many unique ones as it can have.
            return False
        return True

    async def _find_owner(self, email: str) -> str | None:
        try:
            found = await self._client.get(OWNERS, FoundRecords, {"email": email, "limit": "1"})
        except ScopeMissing:
            return None
        return found.results[0].id if found.results else None

    def _describe_state(self, meeting: CrmMeeting) -> dict[str, str]:
        outcomes = {
            MeetingOutcome.SCHEDULED: "SCHEDULED",
            MeetingOutcome.RESCHEDULED: self._options.moved.value,
            MeetingOutcome.CANCELLED: "CANCELED",
            MeetingOutcome.NO_SHOW: "NO_SHOW",
        }
        starts_at = _write_time(meeting.starts_at)
        return {
            "hs_timestamp": starts_at,
            "hs_meeting_start_time": starts_at,
            "hs_meeting_end_time": _write_time(meeting.ends_at),
            "hs_meeting_location": (meeting.location or "")[:LONGEST_VALUE],
            "hs_meeting_outcome": outcomes[meeting.outcome],
        }


class HubSpotVendor:
    """Implements the port `CrmVendor`."""

    name = "hubspot"
    label = "HubSpot"
    account = None
    secret = CrmField(
        label=Text("Token"),
        hint=Text("A service key, or the access token of a private app, with the scopes %(scopes)s.", scopes=SCOPES),
        placeholder="pat-…",
    )

    def make_secret(self) -> str:
        """Never asked for: hosts bring the token."""
        raise NotImplementedError

    def open(self, outbound: Outbound, settings: Settings, credentials: CrmCredentials) -> HubSpot:
        token = credentials.secret
        if not (0 < len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable() and " " not in token):
            raise CrmTokenRefused
        return HubSpot(outbound, settings.hubspot_url, credentials)


def _describe(meeting: CrmMeeting) -> dict[str, str]:
    """Describe what does not change; the text of a meeting is HTML."""
    lines = [
        meeting.notes or "",
        *(f"{label}: {answer}" for label, answer in meeting.answers.items()),
        ", ".join(meeting.guests),
    ]
    body = "<br>".join(escape(line).replace("\n", "<br>") for line in lines if line)
    return {"hs_meeting_title": meeting.title, "hs_meeting_body": body[:60_000], ADDRESS: meeting.url}


def _write_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _by_label(each: Property) -> tuple[str, str]:
    return each.label.casefold(), each.name
