"""One person's mailbox at our Microsoft: calendars, their events, and what the person does in Outlook."""

import re
import secrets
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from openslot.platform.core.work import Clock
from tests.support.fake_microsoft.errors import GraphRefusal, Preferences, bad_request, not_found
from tests.support.fake_microsoft.events import (
    BLOB,
    EventChanges,
    Instance,
    Item,
    NewEvent,
    expand,
    find_zone,
    read_properties,
    read_time,
    show,
    single,
)

Window = tuple[datetime, datetime]
# What is kept elsewhere than among an event's plain fields.
APART = {"start", "end", "recurrence", "singleValueExtendedProperties", "transactionId"}
APART |= {"isOnlineMeeting", "onlineMeetingProvider"}
SLOT, AT_ONCE, PER_SLOT = timedelta(minutes=10), 4, 10_000
# "Give me events with this property", as the documentation writes it.
FILTER = re.compile(
    r"singleValueExtendedProperties/any\(ep: ?ep/id eq '([^']+)' and ep/value eq '([^']*)'\)", re.IGNORECASE
)
EXPAND = re.compile(r"singleValueExtendedProperties\(\$filter=id eq '([^']+)'\)")


class Change(Struct, frozen=True):
    """What subscriptions hear of."""

    kind: str
    calendar: str
    item: Item


class GraphCalendar:
    """A calendar, its events, and in which version others have left it."""

    def __init__(self, name: str, *, can_edit: bool, is_default: bool) -> None:
        self.name, self.can_edit, self.is_default = name, can_edit, is_default
        self.providers = ["teamsForBusiness"]
        self.items: list[Item] = []
        self.left: list[tuple[Item, str, int]] = []
        """Events that were deleted or moved, with the plain id that each had, and when: by the mailbox's number."""


class Mailbox:
    """What one person has, and does in Outlook."""

    def __init__(self, clock: Clock, email: str, *, tenant: str) -> None:
        self.clock, self.email, self.tenant = clock, email, tenant
        self.number = 0
        self.calendars: dict[str, GraphCalendar] = {}
        self.unasked_zone = "W. Europe Standard Time"
        """In which times are shown to who asks for no zone."""
        self.makes_meetings = True
        self.meetings_take = timedelta(seconds=4)
        self.mails: list[tuple[str, str, str]] = []
        """What Outlook has sent to attendees: why, to whom, and the subject."""
        self.changes: list[Change] = []
        """What subscriptions have not been told of."""
        self.at_once, self.most_at_once = 0, 0
        self.quiet_until: datetime | None = None
        self._asked: deque[datetime] = deque()
        self.default = self.add_calendar("Calendar", is_default=True)

    def add_calendar(self, name: str, *, can_edit: bool = True, is_default: bool = False) -> str:
        ref = f"AAMkAGI{secrets.token_urlsafe(24)}="
        self.calendars[ref] = GraphCalendar(name, can_edit=can_edit, is_default=is_default)
        return ref

    def edit(self, calendar: str, name: str, **fields: Any) -> Item:
        """Write an event as its owner does, over what the one with this subject has; `start` and so on as in JSON."""
        holder = self.calendars[calendar]
        present = next((each for each in holder.items if each.fields["subject"] == name), None)
        given = msgspec.convert({"subject": name, **fields}, NewEvent)
        return self.change(calendar, present, given) if present else self.create(calendar, given)

    def edit_series(self, calendar: str, name: str, day: str, **fields: Any) -> None:
        """Change one repetition of a series by its date, as `20260316`; without fields, delete it."""
        item = next(each for each in self.calendars[calendar].items if each.fields["subject"] == name)
        item.exceptions = {**item.exceptions, day: fields or None}
        self.keep(calendar, item, "updated")

    def answer_as(self, calendar: str, name: str, **fields: Any) -> Item:
        """Change what only Outlook can: `responseStatus`, `isCancelled`, `isOrganizer`."""
        item = next(each for each in self.calendars[calendar].items if each.fields["subject"] == name)
        item.fields = {**item.fields, **fields}
        return self.keep(calendar, item, "updated")

    def move_to(self, ref: str, calendar: str) -> None:
        """Move an event to another calendar: without immutable ids it is another event there."""
        holder, item = self.find(ref)
        self.remove(holder, item)
        item.plain_id = _new_plain_id()
        self.calendars[calendar].items.append(item)
        self.keep(calendar, item, "created")

    def remove(self, calendar: str, item: Item) -> None:
        holder = self.calendars[calendar]
        holder.items.remove(item)
        self.number += 1
        holder.left.append((item, item.plain_id, self.number))
        self.changes.append(Change("deleted", calendar, item))

    def throttle(self, lasts: timedelta) -> None:
        """Refuse everything for a while."""
        self.quiet_until = self.clock() + lasts

    def check_rate(self) -> None:
        """Refuse what is too much, or too much at once."""
        now = self.clock()
        if self.quiet_until is not None and now < self.quiet_until:
            left = str(int((self.quiet_until - now).total_seconds()) + 1)
            raise GraphRefusal(429, "ApplicationThrottled", "Too many requests.", Retry_After=left)
        while self._asked and self._asked[0] <= now - SLOT:
            self._asked.popleft()
        self._asked.append(now)
        if len(self._asked) > PER_SLOT:
            raise GraphRefusal(429, "ApplicationThrottled", "Too many requests.", Retry_After="600")
        if self.at_once > AT_ONCE:
            text = "Application is over its MailboxConcurrency limit."
            raise GraphRefusal(429, "ApplicationThrottled", text, Retry_After="1")

    def get(self, calendar: str) -> GraphCalendar:
        if calendar not in self.calendars:
            raise not_found()
        return self.calendars[calendar]

    def show_calendar(self, ref: str) -> dict[str, Any]:
        each = self.get(ref)
        return {
            "id": ref,
            "name": each.name,
            "color": "auto",
            "changeKey": "DwAAABYAAAC9",
            "canShare": each.can_edit,
            "canViewPrivateItems": each.can_edit,
            "canEdit": each.can_edit,
            "isDefaultCalendar": each.is_default,
            "allowedOnlineMeetingProviders": each.providers,
            "defaultOnlineMeetingProvider": each.providers[0] if each.providers else "unknown",
            "owner": {"name": self.email.partition("@")[0], "address": self.email},
        }

    def find(self, ref: str, *, calendar: str | None = None) -> tuple[str, Item]:
        """Find an event by either of its ids, or that of one of its repetitions."""
        whole = re.sub(r"-OC\d{8}=$", "=", ref)
        for name in [calendar] if calendar else list(self.calendars):
            for item in self.get(name).items:
                if whole in {item.immutable_id, item.plain_id}:
                    return name, item
        raise not_found()

    def find_instance(self, ref: str, *, calendar: str | None = None) -> Instance:
        _, item = self.find(ref, calendar=calendar)
        if ref in {item.immutable_id, item.plain_id}:
            return single(item)
        day = ref.removesuffix("=")[-8:]
        found = next((each for each in expand(item) if each.suffix == day), None)
        if found is None:
            raise not_found()
        return found

    def list_within(self, holder: GraphCalendar, window: Window) -> Iterator[Instance]:
        """List what takes place within a window, in which a whole day is one of the owner's zone."""
        zone = find_zone(self.unasked_zone)
        for item in holder.items:
            for each in expand(item):
                moments = [each.starts_at, each.ends_at]
                if each.fields.get("isAllDay"):
                    moments = [at.replace(tzinfo=zone) for at in moments]
                if moments[1] > window[0] and moments[0] < window[1]:
                    yield each

    def show_one(self, found: Instance, query: dict[str, str], preferences: Preferences) -> dict[str, Any]:
        """Show an event whole, with the extended property that is asked for."""
        shown = show(found, preferences, preferences.zone or self.unasked_zone)
        if "$expand" in query:
            match = EXPAND.fullmatch(query["$expand"])
            if match is None:
                raise bad_request(f"$expand={query['$expand']} is not supported")
            value = found.item.properties.get(match[1])
            if value is not None:
                shown["singleValueExtendedProperties"] = [{"id": match[1], "value": value}]
        return shown

    def list_items(self, holder: GraphCalendar, query: dict[str, str]) -> list[Item]:
        """List single events and series, or those that have an extended property with a value."""
        if "$filter" not in query:
            return holder.items
        match = FILTER.fullmatch(query["$filter"])
        if match is None:
            raise bad_request(f"$filter={query['$filter']} is not supported")
        return [each for each in holder.items if each.properties.get(match[1]) == match[2]]

    def create(self, calendar: str, given: NewEvent) -> Item:
        """Make an event; the same transaction again is the same event, and with other content it is refused."""
        content = msgspec.json.encode(given)
        if given.transaction_id is not None:
            made = self._find_transaction(given.transaction_id)
            if made is not None and made in self.get(calendar).items and made.transaction == _name(given, content):
                return made
            if made is not None:
                text = "The TransactionId specified in the request has already been used to create a different event."
                raise GraphRefusal(409, "ErrorDuplicateTransactionId", text)
        if given.start is None or given.end is None:
            raise bad_request("The start and the end of an event are required.")
        item = Item(
            immutable_id=f"AAkALgAAAAAA{secrets.token_urlsafe(24)}=",
            plain_id=_new_plain_id(),
            version=0,
            fields={"subject": "", **self._describe_new()},
            starts_at=self.clock(),
            ends_at=self.clock(),
            transaction=_name(given, content) if given.transaction_id is not None else None,
        )
        self._apply(calendar, item, given)
        self.get(calendar).items.append(item)
        self._mail("invitation", item)
        return self.keep(calendar, item, "created")

    def change(self, calendar: str, item: Item, given: EventChanges) -> Item:
        self._apply(calendar, item, given)
        self._mail("update", item)
        return self.keep(calendar, item, "updated")

    def delete(self, calendar: str, item: Item) -> None:
        self._mail("cancellation", item)
        self.remove(calendar, item)

    def keep(self, calendar: str, item: Item, kind: str) -> Item:
        """Give an event another version."""
        self.number += 1
        item.version = self.number
        item.fields["lastModifiedDateTime"] = f"{self.clock():%Y-%m-%dT%H:%M:%S.%f}0Z"
        self.changes.append(Change(kind, calendar, item))
        return item

    def finish_meetings(self) -> None:
        """Let online meetings have a link whose time has come; their events have another version then."""
        for name, holder in self.calendars.items():
            for item in holder.items:
                if item.ready_at is None or item.ready_at > self.clock():
                    continue
                item.ready_at = None
                if not self.makes_meetings:
                    continue
                url = f"https://teams.microsoft.com/l/meetup-join/19%3ameeting_{item.version}%40thread.v2/0"
                content = item.fields.get("body", {}).get("content", "") + BLOB.format(join_url=url)
                body = {"contentType": "html", "content": content}
                item.fields = {**item.fields, "onlineMeeting": {"joinUrl": url}, "body": body}
                self.keep(name, item, "updated")

    def _apply(self, calendar: str, item: Item, given: EventChanges) -> None:
        """Change an event, or refuse and change nothing."""
        online = self._read_online(calendar, item, given)
        plain = {name: value for name, value in msgspec.to_builtins(given).items() if name not in APART}
        fields = {**item.fields, **plain, **online}
        is_all_day = bool(fields["isAllDay"])
        starts_at, ends_at = (
            before if at is None else read_time(at, is_all_day=is_all_day)
            for at, before in ((given.start, item.starts_at), (given.end, item.ends_at))
        )
        if ends_at < starts_at:
            raise GraphRefusal(400, "ErrorPropertyValidationFailure", "At least one property failed validation.")
        properties = {**item.properties, **read_properties(given.single_value_extended_properties)}
        item.fields, item.starts_at, item.ends_at, item.properties = fields, starts_at, ends_at, properties
        item.recurrence = given.recurrence or item.recurrence
        if online.get("isOnlineMeeting"):
            item.ready_at = self.clock() + self.meetings_take

    def _read_online(self, calendar: str, item: Item, given: EventChanges) -> dict[str, Any]:
        """Tell what becomes of the online meeting: it can't be switched off, except by losing its part of the body."""
        meeting = item.fields.get("onlineMeeting")
        if given.body is not None and meeting is not None and meeting["joinUrl"] not in given.body.content:
            return {"isOnlineMeeting": False, "onlineMeeting": None, "onlineMeetingProvider": "unknown"}
        if not given.is_online_meeting or item.fields["isOnlineMeeting"]:
            return {}
        provider = given.online_meeting_provider
        if provider not in self.get(calendar).providers:
            raise bad_request(f"The provider {provider} of online meetings is not allowed.")
        return {"isOnlineMeeting": True, "onlineMeetingProvider": provider}

    def _describe_new(self) -> dict[str, Any]:
        return {
            "createdDateTime": f"{self.clock():%Y-%m-%dT%H:%M:%S.%f}0Z",
            "categories": [],
            "hasAttachments": False,
            "importance": "normal",
            "sensitivity": "normal",
            "isAllDay": False,
            "isCancelled": False,
            "isOrganizer": True,
            "isDraft": False,
            "showAs": "busy",
            "responseStatus": {"response": "organizer", "time": "0001-01-01T00:00:00Z"},
            "attendees": [],
            "organizer": {"emailAddress": {"name": self.email, "address": self.email}},
            "isOnlineMeeting": False,
            "onlineMeetingProvider": "unknown",
            "onlineMeeting": None,
        }

    def _find_transaction(self, name: str) -> Item | None:
        """Find the event that a transaction has made, also if it is gone."""
        for holder in self.calendars.values():
            for item in [*holder.items, *(each for each, _, _ in holder.left)]:
                if item.transaction is not None and item.transaction[0] == name:
                    return item
        return None

    def _mail(self, why: str, item: Item) -> None:
        for each in item.fields["attendees"]:
            self.mails.append((why, each["emailAddress"]["address"], item.fields["subject"]))


def _name(given: NewEvent, content: bytes) -> tuple[str, bytes]:
    return str(given.transaction_id), content


def _new_plain_id() -> str:
    return f"AAMkAGE1M{secrets.token_urlsafe(24)}="
