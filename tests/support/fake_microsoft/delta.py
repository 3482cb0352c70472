"""What has changed in a calendar view: rounds of pages within a window that the first question fixes."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from tests.support.fake_microsoft.errors import GraphRefusal, Preferences, bad_request
from tests.support.fake_microsoft.events import Instance, Item, read_moment, show, show_briefly
from tests.support.fake_microsoft.mailbox import Mailbox, Window

TOKENS_LAST = timedelta(days=30)
LONGEST_WINDOW = timedelta(days=1825)
DEFAULT_PAGE = 10


class Removed(Struct, frozen=True):
    """An event that is not within the window, or not there any more; with the plain id that it had."""

    item: Item
    plain_id: str
    suffix: str = ""


class Page(Struct, frozen=True):
    calendar: str
    entries: list[Instance | Removed]
    following: str
    """`$skiptoken=…` or `$deltatoken=…`."""


class Round(Struct, frozen=True, kw_only=True):
    """What a client has seen, within which window."""

    calendar: str
    made_at: datetime
    window: Window
    number: int
    seen: dict[str, tuple[str, Removed]]
    """The version of each event, and how it is told of when it is gone."""
    given: tuple[str, ...]


class Resync(Struct, frozen=True):
    """How a client hears that its token is not good any more."""

    status: int
    code: str
    has_location: bool = False


GONE = Resync(410, "SyncStateNotFound", has_location=True)
NOT_FOUND = Resync(404, "syncStateNotFound")
INVALID = Resync(400, "SyncStateInvalid")


class Deltas:
    """The tokens of one mailbox."""

    def __init__(self, mailbox: Mailbox, base: str) -> None:
        self.mailbox, self.base = mailbox, base
        self.page_size = 1000
        self.begins_with_an_empty_page = False
        self.replays = False
        """Whether a round brings again what the round before has brought, and the same event twice."""
        self.resync = GONE
        self._rounds: dict[str, Round] = {}
        self._pages: dict[str, Page] = {}

    def forget_tokens(self, resync: Resync = GONE) -> None:
        """Let every token be too old."""
        self.resync = resync
        self._rounds.clear()
        self._pages.clear()

    def answer(self, calendar: str, query: dict[str, str], preferences: Preferences) -> dict[str, Any]:
        """Show a page: the first of a window, the next of a round, or the first of the next round."""
        self.mailbox.get(calendar)
        if "$skiptoken" in query and len(query) == 1:
            page = self._pages.get(query["$skiptoken"])
            if page is None or page.calendar != calendar:
                raise self._refuse(None)
            return self._show(page, preferences)
        if "$deltatoken" in query and len(query) == 1:
            before = self._rounds.get(query["$deltatoken"])
            if before is None or before.calendar != calendar or self._is_old(before):
                raise self._refuse(before)
            return self._show(self._begin(before, preferences), preferences)
        if set(query) != {"startDateTime", "endDateTime"}:
            raise bad_request(f"This request is not supported with change tracking: {sorted(query)}")
        first = Round(
            calendar=calendar,
            made_at=self.mailbox.clock(),
            window=read_window(query),
            number=self.mailbox.number,
            seen={},
            given=(),
        )
        return self._show(self._begin(first, preferences), preferences)

    def _is_old(self, before: Round) -> bool:
        return self.mailbox.clock() - before.made_at > TOKENS_LAST

    def _refuse(self, before: Round | None) -> GraphRefusal:
        headers = {}
        if self.resync.has_location:
            first, last = before.window if before else (self.mailbox.clock(), self.mailbox.clock() + timedelta(days=7))
            query = {"startDateTime": first.isoformat(), "endDateTime": last.isoformat()}
            calendar = before.calendar if before else self.mailbox.default
            headers["Location"] = f"{self._place(calendar)}?{urlencode(query)}"
        text = "The sync state generation is not found."
        return GraphRefusal(self.resync.status, self.resync.code, text, **headers)

    def _begin(self, before: Round, preferences: Preferences) -> Page:
        """Find what is different, and lay it out in pages."""
        holder = self.mailbox.get(before.calendar)
        now = {_key(each.item, each.suffix): each for each in self.mailbox.list_within(holder, before.window)}
        entries: list[Instance | Removed] = [
            each for key, each in now.items() if before.seen.get(key, ("",))[0] != each.item.etag
        ]
        fresh = tuple(_key(each.item, each.suffix) for each in entries if isinstance(each, Instance))
        if self.replays:
            entries += [now[key] for key in (*before.given, *fresh[:1]) if key in now]
        entries += [gone for key, (_, gone) in before.seen.items() if key not in now]
        entries += self._list_outside(before, set(now))
        seen = {key: (each.item.etag, Removed(each.item, each.item.plain_id, each.suffix)) for key, each in now.items()}
        after = Round(
            calendar=before.calendar,
            made_at=self.mailbox.clock(),
            window=before.window,
            number=self.mailbox.number,
            seen=seen,
            given=fresh,
        )
        return self._lay_out(after, entries, preferences)

    def _list_outside(self, before: Round, within: set[str]) -> list[Removed]:
        """List events outside the window that were added, changed or deleted: they come as removed ones."""
        holder = self.mailbox.get(before.calendar)
        told = {key.partition("/")[0] for key in (*before.seen, *within)}
        here = [(item, item.plain_id, item.version) for item in holder.items]
        return [
            Removed(item, plain_id)
            for item, plain_id, number in [*here, *holder.left]
            if number > before.number and item.immutable_id not in told
        ]

    def _lay_out(self, after: Round, entries: list[Instance | Removed], preferences: Preferences) -> Page:
        size = min(preferences.page_size or DEFAULT_PAGE, self.page_size)
        pages = [entries[start : start + size] for start in range(0, len(entries), size)] or [[]]
        if self.begins_with_an_empty_page:
            pages.insert(0, [])
        last = secrets.token_urlsafe(40)
        self._rounds[last] = after
        following = f"$deltatoken={last}"
        page = Page(after.calendar, pages[-1], following)
        for each in reversed(pages[:-1]):
            name = secrets.token_urlsafe(40)
            self._pages[name] = page
            page = Page(after.calendar, each, f"$skiptoken={name}")
        return page

    def _show(self, page: Page, preferences: Preferences) -> dict[str, Any]:
        link = "@odata.nextLink" if page.following.startswith("$skip") else "@odata.deltaLink"
        return {
            "@odata.context": f"{self.base}/$metadata#Collection(event)",
            link: f"{self._place(page.calendar)}?{page.following}",
            "value": [self._show_entry(each, preferences) for each in page.entries],
        }

    def _show_entry(self, entry: Instance | Removed, preferences: Preferences) -> dict[str, Any]:
        if isinstance(entry, Removed):
            whole = entry.item.immutable_id if preferences.is_immutable else entry.plain_id
            ref = f"{whole.removesuffix('=')}-OC{entry.suffix}=" if entry.suffix else whole
            return {"@odata.type": "#microsoft.graph.event", "id": ref, "@removed": {"reason": "deleted"}}
        zone = preferences.zone or self.mailbox.unasked_zone
        return (show_briefly if entry.kind == "occurrence" else show)(entry, preferences, zone)

    def _place(self, calendar: str) -> str:
        return f"{self.base}/me/calendars/{calendar}/calendarView/delta"


def read_window(query: dict[str, str]) -> Window:
    """Read the two times of a view, which are of UTC if they have no offset."""
    moments = [read_moment(query[name]) for name in ("startDateTime", "endDateTime")]
    first, last = (each if each.tzinfo else each.replace(tzinfo=UTC) for each in moments)
    if not first < last <= first + LONGEST_WINDOW:
        raise GraphRefusal(400, "ErrorInvalidRequest", "The end is not after the start, or too far from it.")
    return first, last


def _key(item: Item, suffix: str) -> str:
    return f"{item.immutable_id}/{suffix}"
