"""One account at our Google: its calendars, their events, and what has changed since a sync token."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dateutil.rrule import rrulestr

from openslot.platform.core.work import Clock
from tests.support.fake_google.errors import GoogleRefusal

TOKENS_LAST = timedelta(days=20)
FIRST_QUERY_ONLY = ("iCalUID", "orderBy", "privateExtendedProperty", "q", "timeMin", "timeMax", "updatedMin")
Window = tuple[datetime | None, datetime | None]


class SyncToken:
    """What a client has seen, within which window, and with which other parameters it asked."""

    def __init__(self, made_at: datetime, window: Window, query: dict[str, str], seen: dict[str, str]) -> None:
        self.made_at, self.window, self.query, self.seen = made_at, window, query, seen


class GoogleMail(NamedTuple):
    """A mail that Google sends about an event: an invitation, an update or a cancellation."""

    to: str
    kind: str
    event_id: str
    starts: str
    others: tuple[str, ...]
    """Whom else its reader sees."""


class GoogleCalendar:
    """A calendar, and its events by id; a deleted one stays as a cancelled one."""

    def __init__(self, name: str, *, role: str, is_primary: bool) -> None:
        self.name, self.role, self.is_primary = name, role, is_primary
        self.events: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, SyncToken] = {}
        self.pages: dict[str, tuple[list[Any], dict[str, str]]] = {}


class GoogleAccount:
    """What one person has, and does in Google's own program."""

    def __init__(self, clock: Clock, email: str) -> None:
        self.clock, self.email = clock, email
        self.calendars: dict[str, GoogleCalendar] = {email: GoogleCalendar(email, role="owner", is_primary=True)}
        self.page_size = 2500
        self.begins_with_an_empty_page = False
        self.makes_meetings = True
        """Whether a conference that is asked for will be there; else the request fails."""
        self.meetings_take = timedelta(seconds=4)
        self.meetings = 0
        self.channels: dict[str, dict[str, Any]] = {}
        """Live ones and those that have expired, by id; one that was stopped is gone."""
        self.stopped: list[str] = []
        self.mails: list[GoogleMail] = []
        self._number = 0
        self._pending: dict[str, datetime] = {}

    def add_calendar(self, name: str, *, role: str = "owner") -> str:
        ref = f"{name.lower()}@group.calendar.google.com"
        self.calendars[ref] = GoogleCalendar(name, role=role, is_primary=False)
        return ref

    def edit(self, calendar: str, event_id: str, **fields: Any) -> dict[str, Any]:
        """Write an event as its owner does, over what it has."""
        holder = self.get(calendar)
        present = holder.events.get(event_id) or {"iCalUID": f"{event_id}@google.com", "status": "confirmed"}
        return self.store(holder, {**present, **fields, "id": event_id})

    def store(self, holder: GoogleCalendar, event: dict[str, Any]) -> dict[str, Any]:
        """Keep an event in another version."""
        self._number += 1
        kept = {"eventType": "default", "kind": "calendar#event", **event}
        kept |= {"etag": f'"{self._number}"', "updated": self.clock().isoformat()}
        holder.events[kept["id"]] = kept
        return kept

    def tell(self, before: dict[str, Any] | None, after: dict[str, Any], *, how: str) -> None:
        """Mail those who take part in an event if the program asked for it, also if nothing they see is different."""
        had, has = (
            [] if each is None or each["status"] == "cancelled" else _list_guests(each) for each in (before, after)
        )
        for to in dict.fromkeys([*had, *has]) if how == "all" else ():
            kind = "cancellation" if to not in has else "update" if to in had else "invitation"
            others = () if after.get("guestsCanSeeOtherGuests") is False else tuple({*had, *has} - {to})
            if to != self.email:
                self.mails.append(GoogleMail(to, kind, after["id"], after["start"]["dateTime"], others))

    def watch(self, calendar: str, wanted: dict[str, Any]) -> dict[str, Any]:
        """Make a channel, for as long as is wished, but not for more than a week."""
        if not wanted["address"].startswith("https://"):
            raise GoogleRefusal(400, "push.webhookUrlNotHttps", "WebHook callback must be HTTPS")
        if wanted["type"] != "web_hook" or not 0 < len(wanted["id"]) <= 64 or len(wanted.get("token", "")) > 256:
            raise GoogleRefusal(400, "invalid", "a channel that is not valid")
        if wanted["id"] in self.channels or wanted["id"] in self.stopped:
            raise GoogleRefusal(400, "channelIdNotUnique", f"Channel id {wanted['id']} not unique")
        lasts = min(timedelta(seconds=int(wanted.get("params", {}).get("ttl", "604800"))), timedelta(days=7))
        expires = str(int((self.clock() + lasts).timestamp() * 1000))
        made = {**wanted, "resourceId": f"resource of {calendar}", "expiration": expires, "number": 1}
        self.channels[wanted["id"]] = made
        return {"kind": "api#channel", "id": wanted["id"], "resourceId": made["resourceId"], "expiration": expires}

    def stop(self, wanted: dict[str, Any]) -> None:
        channel = self.channels.get(wanted["id"])
        if channel is None or channel["resourceId"] != wanted["resourceId"]:
            raise GoogleRefusal(404, "notFound", "Channel not found")
        del self.channels[wanted["id"]]
        self.stopped.append(wanted["id"])

    def list_notices(self, *, state: str = "exists") -> list[tuple[str, dict[str, str]]]:
        """Tell all channels that something has changed: the address and the headers of each notice."""
        notices = []
        for name, each in self.channels.items():
            each["number"] += 1
            headers = {"Channel-ID": name, "Channel-Token": each["token"], "Resource-ID": each["resourceId"]}
            headers |= {"Resource-State": state, "Message-Number": str(each["number"])}
            named = {f"X-Goog-{header}": value for header, value in headers.items()}
            notices.append((urlsplit(each["address"]).path, named))
        return notices

    def take_conference(self, kept: dict[str, Any], body: dict[str, Any], *, version: int) -> dict[str, Any]:
        """Say which conference an event has after a write: a request with an id that was seen is ignored."""
        if version == 0:
            return {}
        present: dict[str, Any] = kept.get("conferenceData", {})
        wanted = body.get("conferenceData", {}).get("createRequest")
        if wanted is None or wanted["requestId"] == present.get("createRequest", {}).get("requestId"):
            return present
        if wanted["conferenceSolutionKey"] != {"type": "hangoutsMeet"}:
            raise GoogleRefusal(400, "invalid", "Invalid conference type value.")
        self._pending[wanted["requestId"]] = self.clock() + self.meetings_take
        return {"createRequest": {**wanted, "status": {"statusCode": "pending"}}}

    def finish_conferences(self) -> None:
        """Let conferences be ready whose time has come; their events have another version then."""
        for holder in self.calendars.values():
            for event in list(holder.events.values()):
                asked = event.get("conferenceData", {}).get("createRequest")
                ready_at = self._pending.get(asked["requestId"]) if asked else None
                if ready_at is None or ready_at > self.clock():
                    continue
                del self._pending[asked["requestId"]]
                status = {"statusCode": "success" if self.makes_meetings else "failure"}
                made: dict[str, Any] = {"createRequest": {**asked, "status": status}}
                if self.makes_meetings:
                    self.meetings += 1
                    phone = {"entryPointType": "phone", "uri": "tel:+49-30-000000"}
                    link = f"https://meet.google.com/aaa-bbbb-c{self.meetings:02}"
                    made["entryPoints"] = [phone, {"entryPointType": "video", "uri": link}]
                self.store(holder, {**event, "conferenceData": made})

    def remove(self, calendar: str, event_id: str) -> None:
        self.edit(calendar, event_id, status="cancelled")

    def forget_tokens(self) -> None:
        """Let every sync token be too old."""
        for each in self.calendars.values():
            each.tokens.clear()

    def get(self, calendar: str) -> GoogleCalendar:
        ref = self.email if calendar == "primary" else calendar
        if ref not in self.calendars:
            raise GoogleRefusal(404, "notFound", "Not Found")
        return self.calendars[ref]

    def list_calendars(self) -> list[dict[str, Any]]:
        """Show the calendar list, the account's own one last: the order means nothing."""
        shown = [
            {"id": ref, "summary": each.name, "accessRole": each.role, "primary": each.is_primary, "timeZone": "UTC"}
            for ref, each in reversed(self.calendars.items())
        ]
        return [{name: value for name, value in each.items() if value is not False} for each in shown]

    def list_events(self, holder: GoogleCalendar, query: dict[str, str]) -> dict[str, Any]:
        """Show a page of a list: all of a window, or what is different since a sync token."""
        if "pageToken" in query:
            return self._give_page(holder, query["pageToken"])
        if "syncToken" in query:
            items, token = self._find_changes(holder, query)
        else:
            window = _read_window(query)
            items = [each for each in self._expand(holder, window) if each["status"] != "cancelled"]
            seen = {each["id"]: each["etag"] for each in items}
            token = SyncToken(self.clock(), window, _same_always(query), seen)
        self._number += 1
        name = f"sync-{self._number}"
        holder.tokens[name] = token
        size = min(int(query.get("maxResults", "250")), self.page_size)
        pages = [items[start : start + size] for start in range(0, len(items), size)] or [[]]
        if self.begins_with_an_empty_page:
            pages.insert(0, [])
        names = [f"page-{self._number}-{number}" for number in range(len(pages))]
        for number, page in enumerate(pages):
            is_last = number == len(pages) - 1
            following = {"nextSyncToken": name} if is_last else {"nextPageToken": names[number + 1]}
            holder.pages[names[number]] = (page, following)
        return self._give_page(holder, names[0])

    def _give_page(self, holder: GoogleCalendar, name: str) -> dict[str, Any]:
        items, following = holder.pages[name]
        return {"kind": "calendar#events", "summary": holder.name, "timeZone": "UTC", "items": items, **following}

    def _find_changes(self, holder: GoogleCalendar, query: dict[str, str]) -> tuple[list[dict[str, Any]], SyncToken]:
        if any(name in query for name in FIRST_QUERY_ONLY):
            raise GoogleRefusal(400, "badRequest", "a parameter can't be combined with a sync token")
        before = holder.tokens.get(query["syncToken"])
        if before is None or self.clock() - before.made_at > TOKENS_LAST:
            raise GoogleRefusal(410, "fullSyncRequired", "Sync token is no longer valid, a full sync is required.")
        if _same_always(query) != before.query:
            raise GoogleRefusal(400, "badRequest", "the parameters are not those of the first request")
        now = {each["id"]: each for each in self._expand(holder, before.window) if each["status"] != "cancelled"}
        changed = [each for ref, each in now.items() if before.seen.get(ref) != each["etag"]]
        # Only this is told of what is gone.
        gone = [{"id": ref, "status": "cancelled", "etag": '"0"'} for ref in before.seen if ref not in now]
        seen = {ref: each["etag"] for ref, each in now.items()}
        return [*changed, *gone], SyncToken(self.clock(), before.window, before.query, seen)

    def _expand(self, holder: GoogleCalendar, window: Window) -> Iterator[dict[str, Any]]:
        """List single events and the repetitions of series, within a window."""
        for event in list(holder.events.values()):
            for each in _list_repetitions(event) if event.get("recurrence") else (event,):
                changed = holder.events.get(each["id"], each)
                if (each is event or changed is each) and _is_within(each, window):
                    yield each


def _list_guests(event: dict[str, Any]) -> list[str]:
    return [each["email"] for each in event.get("attendees", ())]


def _list_repetitions(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    start, end = _read(event["start"]), _read(event["end"])
    rule = rrulestr("\n".join(event["recurrence"]), dtstart=start.replace(tzinfo=None))
    for found in rule:
        begins = found.replace(tzinfo=UTC)
        if begins > start + timedelta(days=3660):
            return
        name = f"{event['id']}_{begins:%Y%m%dT%H%M%SZ}"
        kept = {key: value for key, value in event.items() if key != "recurrence"}
        times = {"start": {"dateTime": begins.isoformat()}, "end": {"dateTime": (begins + (end - start)).isoformat()}}
        yield {**kept, **times, "id": name, "recurringEventId": event["id"], "originalStartTime": times["start"]}


def _is_within(event: dict[str, Any], window: Window) -> bool:
    if "start" not in event:
        return True
    first, last = window
    return (first is None or _read(event["end"]) > first) and (last is None or _read(event["start"]) < last)


def _read(value: dict[str, str]) -> datetime:
    if "dateTime" in value:
        return datetime.fromisoformat(value["dateTime"])
    return datetime.combine(date.fromisoformat(value["date"]), datetime.min.time(), UTC)


def _read_window(query: dict[str, str]) -> Window:
    first, last = (datetime.fromisoformat(query[name]) if name in query else None for name in ("timeMin", "timeMax"))
    return first, last


def _same_always(query: dict[str, str]) -> dict[str, str]:
    left_out = {*FIRST_QUERY_ONLY, "syncToken", "pageToken", "fields", "maxResults"}
    return {name: value for name, value in query.items() if name not in left_out}
