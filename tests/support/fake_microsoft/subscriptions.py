"""Subscriptions of our Microsoft: addresses that are validated, notices with many items, and slow addresses."""

import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import httpx2
import msgspec
from msgspec import Struct

from openslot.platform.core.work import Clock
from tests.support.fake_microsoft.errors import GraphRefusal, Preferences, bad_request
from tests.support.fake_microsoft.events import read_moment
from tests.support.fake_microsoft.mailbox import Change, Mailbox

LONGEST, SHORTEST = timedelta(minutes=10_080), timedelta(minutes=45)
TRIED_FOR, APART = timedelta(hours=4), timedelta(minutes=10)
SLOW_AFTER = 2.9
COUNTED_FROM = 10
"""Microsoft counts from 100 notices on."""
MAX_ITEMS = 100


class Reply(Struct, frozen=True):
    """How an address answers."""

    status: int
    content_type: str = ""
    body: str = ""
    took: float = 0.0


Reach = Callable[[str, dict[str, str], bytes], Awaitable[Reply]]


class NewSubscription(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    change_type: str
    notification_url: str
    resource: str
    expiration_date_time: str
    lifecycle_notification_url: str | None = None
    client_state: str | None = None
    latest_supported_tls_version: str | None = None


class Renewal(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    expiration_date_time: str


class Subscription(Struct, kw_only=True):
    id: str
    email: str
    given: NewSubscription
    calendar: str | None
    """None: all of the mailbox."""
    expires_at: datetime
    is_immutable: bool
    renewed_at: datetime | None = None
    reauthorized_at: datetime | None = None


class Notice(Struct):
    """One item on its way to an address."""

    url: str
    item: dict[str, Any]
    made_at: datetime
    due_at: datetime
    tries: int = 0


async def reach_over_http(url: str, headers: dict[str, str], body: bytes) -> Reply:
    """Send a request over the network; no answer counts as 599."""
    began = time.monotonic()
    try:
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=10) as client:
            found = await client.post(url, headers=headers, content=body)
    except httpx2.HTTPError:
        return Reply(599, took=time.monotonic() - began)
    return Reply(found.status_code, found.headers.get("content-type", ""), found.text, time.monotonic() - began)


class Subscriptions:
    """All subscriptions of the client, and the notices that are not delivered yet."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.reach: Reach = reach_over_http
        self.live: dict[str, Subscription] = {}
        self.ended: list[str] = []
        self.notices: list[Notice] = []
        self.dropped: list[dict[str, Any]] = []
        self._took: dict[str, list[float]] = {}
        """By the host of an address: how long its latest answers took."""

    async def create(self, mailbox: Mailbox, given: NewSubscription, preferences: Preferences) -> dict[str, Any]:
        """Make a subscription after both addresses have answered."""
        kinds = given.change_type.split(",")
        if not kinds or not set(kinds) <= {"created", "updated", "deleted"} or len(set(kinds)) != len(kinds):
            raise bad_request(f"changeType {given.change_type} is not valid")
        if given.client_state is not None and len(given.client_state) > 128:
            raise bad_request("clientState is too long")
        calendar = _read_resource(mailbox, given.resource)
        expires_at = self._read_expiry(given.expiration_date_time)
        addresses = [given.notification_url, given.lifecycle_notification_url]
        for each in addresses:
            if each is not None and not each.startswith("https://"):
                raise bad_request("The notification address must begin with https.")
        for each in addresses:
            if each is not None:
                await self._validate(each)
        # Also one that has come while the addresses were asked.
        if any(self._is_same(each, mailbox, given) for each in self._list(mailbox)):
            raise GraphRefusal(409, "Conflict", "A subscription for this resource and change type exists already.")
        made = Subscription(
            id=str(uuid4()),
            email=mailbox.email,
            given=given,
            calendar=calendar,
            expires_at=expires_at,
            is_immutable=preferences.is_immutable,
        )
        self.live[made.id] = made
        return _show(made)

    def show_all(self, mailbox: Mailbox) -> dict[str, Any]:
        return {"value": [_show(each) for each in self._list(mailbox)]}

    def show_one(self, mailbox: Mailbox, name: str) -> dict[str, Any]:
        return _show(self._get(mailbox, name))

    def renew(self, mailbox: Mailbox, name: str, given: Renewal) -> dict[str, Any]:
        found = self._get(mailbox, name)
        self._check_apart(found.reauthorized_at)
        found.expires_at = self._read_expiry(given.expiration_date_time)
        found.renewed_at = self.clock()
        return _show(found)

    def reauthorize(self, mailbox: Mailbox, name: str) -> None:
        found = self._get(mailbox, name)
        self._check_apart(found.renewed_at)
        found.reauthorized_at = self.clock()

    def delete(self, mailbox: Mailbox, name: str) -> None:
        self._get(mailbox, name)
        del self.live[name]
        self.ended.append(name)

    def tell(self, name: str, event: str) -> None:
        """Send a lifecycle event to who has asked for them; a subscription that is removed is gone."""
        found = self.live.pop(name) if event == "subscriptionRemoved" else self.live[name]
        if found.given.lifecycle_notification_url is not None:
            item = {**_describe(found), "lifecycleEvent": event}
            self._queue(found.given.lifecycle_notification_url, item)

    def collect(self, mailboxes: dict[str, Mailbox]) -> None:
        """Make notices of what has changed."""
        for mailbox in mailboxes.values():
            for change in mailbox.changes:
                for each in self._list(mailbox):
                    if each.calendar in {None, change.calendar} and change.kind in each.given.change_type.split(","):
                        self._queue(each.given.notification_url, _tell_of(each, change))
            mailbox.changes.clear()

    async def deliver(self) -> list[int]:
        """Send what is due, many items in one request, and return the statuses; what fails is tried again later."""
        now, statuses = self.clock(), []
        due = [each for each in self.notices if each.due_at <= now]
        for url in dict.fromkeys(each.url for each in due):
            waiting = [each for each in due if each.url == url]
            for start in range(0, len(waiting), MAX_ITEMS):
                statuses.append(await self._send(url, waiting[start : start + MAX_ITEMS]))
        return statuses

    def list_bodies(self) -> list[tuple[str, dict[str, Any]]]:
        """Take what is due without sending it: the path of each address, and the body."""
        found: dict[str, list[dict[str, Any]]] = {}
        for each in self.notices:
            found.setdefault(urlsplit(each.url).path, []).append(each.item)
        self.notices.clear()
        return [(path, {"value": items}) for path, items in found.items()]

    async def _send(self, url: str, notices: list[Notice]) -> int:
        host = urlsplit(url).netloc
        slow = self._share_of_slow(host)
        if slow > 0.15:
            self._drop(notices)
            return 0
        body = msgspec.json.encode({"value": [each.item for each in notices]})
        reply = await self.reach(url, {"Content-Type": "application/json; charset=utf-8"}, body)
        self._took.setdefault(host, []).append(reply.took)
        for each in notices:
            each.tries += 1
            if 200 <= reply.status < 300 and reply.took <= SLOW_AFTER:
                self.notices.remove(each)
            elif self.clock() - each.made_at > TRIED_FOR:
                self._drop([each])
            else:
                wait = timedelta(minutes=10) if slow > 0.10 else timedelta(seconds=10 * 2 ** min(each.tries, 10))
                each.due_at = self.clock() + wait
        return reply.status

    def _share_of_slow(self, host: str) -> float:
        took = self._took.get(host, [])
        return sum(each > SLOW_AFTER for each in took) / len(took) if len(took) >= COUNTED_FROM else 0.0

    def _drop(self, notices: list[Notice]) -> None:
        """Forget notices for good; the client hears that it has missed some."""
        for each in notices:
            self.notices.remove(each)
            self.dropped.append(each.item)
        for name in dict.fromkeys(each.item["subscriptionId"] for each in notices if "changeType" in each.item):
            if name in self.live:
                self.tell(name, "missed")

    def _queue(self, url: str, item: dict[str, Any]) -> None:
        self.notices.append(Notice(url, item, self.clock(), self.clock()))

    def _list(self, mailbox: Mailbox) -> list[Subscription]:
        for name, each in list(self.live.items()):
            if each.expires_at <= self.clock():
                del self.live[name]
                self.ended.append(name)
        return [each for each in self.live.values() if each.email == mailbox.email]

    def _get(self, mailbox: Mailbox, name: str) -> Subscription:
        found = next((each for each in self._list(mailbox) if each.id == name), None)
        if found is None:
            raise GraphRefusal(404, "ResourceNotFound", "The object was not found.")
        return found

    def _check_apart(self, other: datetime | None) -> None:
        if other is not None and self.clock() - other < APART:
            raise bad_request("A subscription is not renewed and reauthorized within ten minutes.")

    def _is_same(self, one: Subscription, mailbox: Mailbox, given: NewSubscription) -> bool:
        kinds = set(one.given.change_type.split(",")) == set(given.change_type.split(","))
        return kinds and one.email == mailbox.email and one.given.resource.strip("/") == given.resource.strip("/")

    def _read_expiry(self, text: str) -> datetime:
        read = read_moment(text)
        if read.tzinfo is None:
            raise bad_request("expirationDateTime has no offset")
        if not self.clock() < read <= self.clock() + LONGEST:
            raise bad_request("Subscription expiration can only be 10080 minutes in the future.")
        return max(read.astimezone(UTC), self.clock() + SHORTEST)

    async def _validate(self, url: str) -> None:
        token = f"Validation: Testing client application reachability <b>&+ {secrets.token_urlsafe(12)}"
        joined = f"{url}{'&' if '?' in url else '?'}{urlencode({'validationToken': token})}"
        reply = await self.reach(joined, {"Content-Type": "text/plain; charset=utf-8"}, b"")
        is_plain = reply.content_type.partition(";")[0].strip() == "text/plain"
        if reply.status != 200 or not is_plain or reply.body != token or reply.took > 10:
            text = "Subscription validation request failed. The address must respond with 200 and the token."
            raise GraphRefusal(400, "ValidationError", text)


def _read_resource(mailbox: Mailbox, resource: str) -> str | None:
    parts = resource.strip("/").split("/")
    if parts == ["me", "events"]:
        return None
    if len(parts) != 4 or (parts[0], parts[1], parts[3]) != ("me", "calendars", "events"):
        raise bad_request(f"The resource {resource} is not supported")
    mailbox.get(parts[2])
    return parts[2]


def _describe(found: Subscription) -> dict[str, Any]:
    return {
        "subscriptionId": found.id,
        "subscriptionExpirationDateTime": _write_moment(found.expires_at),
        "tenantId": "72f988bf-0000-41af-91ab-2d7cd011db47",
        "clientState": found.given.client_state,
    }


def _tell_of(found: Subscription, change: Change) -> dict[str, Any]:
    ref = change.item.immutable_id if found.is_immutable else change.item.plain_id
    data = {"@odata.type": "#Microsoft.Graph.Event", "@odata.etag": change.item.etag, "id": ref}
    return {**_describe(found), "changeType": change.kind, "resource": f"Users/a/Events/{ref}", "resourceData": data}


def _show(found: Subscription) -> dict[str, Any]:
    shown = {name: value for name, value in msgspec.to_builtins(found.given).items() if value is not None}
    return {**shown, "id": found.id, "expirationDateTime": _write_moment(found.expires_at), "applicationId": "a"}


def _write_moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}0Z"
