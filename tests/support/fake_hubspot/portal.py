"""One portal: its records, the properties that they may have, and the rules that its administrators have made."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from openslot.platform.core.work import Clock
from tests.support.fake_hubspot.shapes import HubSpotRefusal, invalid, refuse_values

READ, WRITE = "crm.objects.contacts.read", "crm.objects.contacts.write"
OWNERS, SCHEMAS = "crm.objects.owners.read", "crm.schemas.contacts.write"
OUTCOMES = ("SCHEDULED", "COMPLETED", "RESCHEDULED", "NO_SHOW", "CANCELED")
CONTACT_TEXTS = {
    "email": "Email",
    "firstname": "First Name",
    "lastname": "Last Name",
    "phone": "Phone Number",
    "company": "Company Name",
    "jobtitle": "Job Title",
    "message": "Message",
}
MEETING_TEXTS = {
    "hs_meeting_title": "Meeting name",
    "hs_meeting_body": "Meeting description",
    "hs_internal_meeting_notes": "Internal meeting notes",
    "hs_meeting_external_url": "Meeting link",
    "hs_meeting_location": "Meeting location",
}
MEETING_TIMES = {
    "hs_timestamp": "Activity date",
    "hs_meeting_start_time": "Start time",
    "hs_meeting_end_time": "End time",
}

Properties = dict[str, str]
Checks = Callable[[Properties], bool]


class Rule:
    """What an administrator demands of the records of a kind."""

    def __init__(self, name: str, message: str, code: str, is_kept: Checks) -> None:
        self.name, self.message, self.code, self.is_kept = name, message, code, is_kept


class Record:
    """A contact or a meeting, and what it had when."""

    def __init__(self, record_id: str, at: datetime) -> None:
        self.id, self.created_at = record_id, at
        self.versions: list[tuple[datetime, Properties]] = []

    @property
    def properties(self) -> Properties:
        return self.versions[-1][1]

    def at(self, moment: datetime) -> Properties:
        """Say what an index that was written at a moment has of it."""
        return next((each for at, each in reversed(self.versions) if at <= moment), {})


class Portal:
    """What one company has in HubSpot."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.scopes = {READ, WRITE, OWNERS, SCHEMAS}
        self.records: dict[str, dict[str, Record]] = {"contacts": {}, "meetings": {}}
        self.definitions = {"contacts": _list_contact_properties(), "meetings": _list_meeting_properties()}
        self.rules: dict[str, list[Rule]] = {"contacts": [], "meetings": []}
        self.owners: dict[str, str] = {}
        """Ids by email."""
        self.associations: set[tuple[str, str]] = set()
        """Meetings with their contacts."""
        self.index_lags = timedelta(seconds=8)
        self.tells_batch_errors_apart = True
        """Whether a batch in which all is wrong is answered with 207 and its errors, or with 400."""
        self._number = 100

    @property
    def contacts(self) -> list[Properties]:
        return [each.properties for each in self.records["contacts"].values()]

    @property
    def meetings(self) -> list[Properties]:
        return [each.properties for each in self.records["meetings"].values()]

    def require(self, kind: str, name: str, *, when: tuple[str, str] | None = None) -> None:
        """Demand that records have a property, or only those in which another property has a value."""

        def is_kept(properties: Properties) -> bool:
            is_concerned = when is None or properties.get(when[0]) == when[1]
            return not is_concerned or bool(properties.get(name))

        label = self.definitions[kind][name]["label"]
        self.rules[kind].append(Rule(name, f"{label} is required", "REQUIRED_FIELD", is_kept))

    def allow_only(self, kind: str, name: str, pattern: str, message: str) -> None:
        """Demand a form of what a property has."""
        checks = re.compile(pattern)
        rule = Rule(name, message, "INVALID_FORMAT", lambda each: bool(checks.fullmatch(each.get(name, ""))))
        self.rules[kind].append(rule)

    def add_property(self, kind: str, name: str, label: str, **more: Any) -> None:
        self.definitions[kind][name] = _define(name, label, **more)

    def find(self, kind: str, name: str, value: str) -> Record | None:
        """Find a record by a property that is unique; emails are compared in lower case."""
        if name != "hs_object_id" and not self.definitions[kind].get(name, {}).get("hasUniqueValue"):
            raise HubSpotRefusal(400, "VALIDATION_ERROR", f"{name} is not a unique property of {kind}")
        if name == "hs_object_id":
            return self.records[kind].get(value)
        wanted = value.lower() if name == "email" else value
        return next((each for each in self.records[kind].values() if each.properties.get(name) == wanted), None)

    def create(self, kind: str, properties: Properties) -> Record:
        if kind == "meetings" and not properties.get("hs_timestamp"):
            raise refuse_values([invalid("hs_timestamp", "Activity date is required", "REQUIRED_FIELD")])
        checked = self._check(kind, {}, properties)
        for name in checked:
            is_unique = self.definitions[kind][name].get("hasUniqueValue")
            if is_unique and (present := self.find(kind, name, checked[name])):
                raise HubSpotRefusal(409, "CONFLICT", f"Contact already exists. Existing ID: {present.id}")
        self._number += 1
        record = Record(str(self._number), self.clock())
        self.records[kind][record.id] = record
        record.versions.append((self.clock(), checked))
        return record

    def update(self, kind: str, record: Record, properties: Properties) -> Record:
        record.versions.append((self.clock(), self._check(kind, record.properties, properties)))
        return record

    def upsert(self, kind: str, wanted: dict[str, Any]) -> tuple[Record, bool]:
        """Write a record that a unique property names, or make it; say whether it is new."""
        name = wanted.get("idProperty", "hs_object_id")
        present = self.find(kind, name, wanted["id"])
        if present is not None:
            return self.update(kind, present, wanted["properties"]), False
        return self.create(kind, {**wanted["properties"], name: wanted["id"]}), True

    def search(self, kind: str, name: str, value: str) -> list[Record]:
        """Find records as the index has them, which is behind."""
        seen = self.clock() - self.index_lags
        return [each for each in self.records[kind].values() if each.at(seen).get(name) == value]

    def define(self, kind: str, wanted: dict[str, Any]) -> dict[str, Any]:
        if wanted["name"] in self.definitions[kind]:
            raise HubSpotRefusal(409, "OBJECT_ALREADY_EXISTS", f"A property named '{wanted['name']}' already exists.")
        if wanted["groupName"] not in {each["groupName"] for each in self.definitions[kind].values()}:
            raise HubSpotRefusal(400, "VALIDATION_ERROR", f"Property Group: {wanted['groupName']} does not exist.")
        self.definitions[kind][wanted["name"]] = {**_define(wanted["name"], wanted["label"]), **wanted}
        return self.definitions[kind][wanted["name"]]

    def _check(self, kind: str, present: Properties, given: Properties) -> Properties:
        """Say what a record has after a write, or refuse it by HubSpot's rules and by those of the portal."""
        known = self.definitions[kind]
        faults = [fault for name, value in given.items() if (fault := _find_fault(known.get(name), name, value))]
        if faults:
            raise refuse_values(faults)
        kept = present | {name: _normalize(known[name], value) for name, value in given.items()}
        kept = {name: value for name, value in kept.items() if value}
        broken = [invalid(rule.name, rule.message, rule.code) for rule in self.rules[kind] if not rule.is_kept(kept)]
        if broken:
            raise refuse_values(broken)
        return kept


def _find_fault(definition: dict[str, Any] | None, name: str, value: str) -> dict[str, Any] | None:
    if definition is None:
        return invalid(name, f'Property "{name}" does not exist', "PROPERTY_DOESNT_EXIST")
    if definition["modificationMetadata"]["readOnlyValue"]:
        return invalid(name, f'"{name}" is a read only property', "READ_ONLY_VALUE")
    options = [each["value"] for each in definition["options"]]
    if options and value and value not in options:
        return invalid(name, f"{value} was not one of the allowed options: {options}", "INVALID_OPTION")
    if len(value) > 65_536:
        return invalid(name, "the value is too long", "PROPERTY_VALUE_TOO_LONG")
    if name == "email" and not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", value):
        return invalid(name, f"Email address {value} is invalid", "INVALID_EMAIL")
    return None


def _normalize(definition: dict[str, Any], value: str) -> str:
    if definition["name"] == "email":
        return value.lower()
    if definition["type"] == "datetime":
        is_number = value.isdecimal()
        moment = datetime.fromtimestamp(int(value) / 1000, UTC) if is_number else datetime.fromisoformat(value)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


def _define(name: str, label: str, **more: Any) -> dict[str, Any]:
    is_read_only = more.pop("read_only", False)
    options = [{"label": each, "value": each, "hidden": False} for each in more.pop("options", ())]
    defined: dict[str, Any] = {
        "name": name,
        "label": label,
        "type": "string",
        "fieldType": "text",
        "groupName": "contactinformation",
    }
    defined |= {"description": "", "options": options, "hidden": False, "calculated": False, "hasUniqueValue": False}
    defined["modificationMetadata"] = {"archivable": True, "readOnlyDefinition": True, "readOnlyValue": is_read_only}
    return defined | more


def _list_contact_properties() -> dict[str, dict[str, Any]]:
    found = {name: _define(name, label) for name, label in CONTACT_TEXTS.items()}
    found["email"]["hasUniqueValue"] = True
    found["phone"]["fieldType"] = "phonenumber"
    found["message"]["fieldType"] = "textarea"
    others = [
        _define("hs_object_id", "Record ID", type="number", fieldType="number", read_only=True),
        _define("createdate", "Create Date", type="datetime", fieldType="date", read_only=True),
        _define(
            "lifecyclestage", "Lifecycle Stage", type="enumeration", fieldType="radio", options=("lead", "customer")
        ),
        _define("hubspot_owner_id", "Contact owner", type="enumeration", fieldType="select"),
        _define("hs_calculated_phone_number", "Calculated Phone Number", calculated=True, read_only=True),
        _define("hs_legal_basis_hidden", "Hidden", hidden=True),
    ]
    return found | {each["name"]: each for each in others}


def _list_meeting_properties() -> dict[str, dict[str, Any]]:
    found = {name: _define(name, label, groupName="meeting") for name, label in MEETING_TEXTS.items()}
    for name, label in MEETING_TIMES.items():
        found[name] = _define(name, label, type="datetime", fieldType="date", groupName="engagement")
    outcome = _define("hs_meeting_outcome", "Meeting outcome", type="enumeration", fieldType="select", options=OUTCOMES)
    owner = _define("hubspot_owner_id", "Activity assigned to", type="enumeration", fieldType="select")
    return found | {each["name"]: {**each, "groupName": "meeting"} for each in (outcome, owner)}
