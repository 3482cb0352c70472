"""ICS feeds: a read-only calendar that somebody publishes at a secret URL."""

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import ClassVar

import httpx2
import msgspec
from msgspec import Struct

from openslot.domains.calendars.errors import (
    BAD_ADDRESS,
    FEED_STATUS,
    INCOMPLETE_FEED,
    CalendarGone,
    CalendarSignInFailed,
    CalendarUnreachable,
    CalendarUnreadable,
    ReadOnlyCalendar,
)
from openslot.domains.calendars.ports import Changes, KeptSeries, RemoteCalendar, RemoteEvent, Scope, StoredEvent
from openslot.domains.calendars.prefilter import filter_text
from openslot.domains.calendars.recurrence import Budget
from openslot.domains.mail.calendar_entry import CalendarEntry
from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, RequestLimits
from openslot.vendors.caldav.client import to_calendar_fault
from openslot.vendors.caldav.objects import ICalObject, expand_series, read_objects

LIMITS = RequestLimits(within=timedelta(seconds=60), at_most=20 * 1024 * 1024)
NAME = re.compile(rb"^X-WR-CALNAME[^:\r\n]*:([^\r\n]{1,200})", re.MULTILINE)
DEFAULT_NAME = "Calendar feed"
# The URL is secret and leads to only one calendar, so the calendar has a fixed name.
PLACE = "feed"


class FeedState(Struct, frozen=True, omit_defaults=True):
    etag: str | None = None
    modified: str | None = None


class IcsFeed:
    can_invite: ClassVar[bool] = False

    def __init__(self, outbound: Outbound, url: str) -> None:
        self._url = url
        self._client = outbound.client(follow_redirects=True, limits=LIMITS)

    async def list_calendars(self) -> list[RemoteCalendar]:
        response = await self._get({})
        name = NAME.search(response.content[:65536])
        typed = name[1].decode(errors="replace").replace("\\,", ",") if name else ""
        shown = "".join(character for character in typed if character.isprintable()).strip()
        return [RemoteCalendar(ref=PLACE, name=shown or DEFAULT_NAME, can_write=False)]

    async def list_addresses(self) -> frozenset[str]:
        return frozenset()

    async def list_changes(
        self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
    ) -> Changes:
        """List the events that are new or different; none if the server says that nothing changed."""
        before = msgspec.json.decode(cursor, type=FeedState) if cursor else FeedState()
        asked = {"If-None-Match": before.etag, "If-Modified-Since": before.modified}
        response = await self._get({name: value for name, value in asked.items() if value is not None})
        if response.status_code == 304 and cursor is not None:
            return Changes(changed=(), removed=(), cursor=cursor)
        now = FeedState(_find_header(response, "etag"), _find_header(response, "last-modified"))
        objects = await asyncio.to_thread(_split, response.content)
        changed = [each for each in objects.values() if known.get(each.href) != each.etag]
        return Changes(
            changed=tuple(await read_objects(changed, scope)),
            removed=tuple(href for href in known if href not in objects),
            cursor=msgspec.json.encode(now).decode(),
        )

    async def expand(self, kept: Sequence[KeptSeries], scope: Scope) -> list[RemoteEvent]:
        return await expand_series(kept, scope)

    async def find_own(self, calendar: str, uid: str, *, ref: str | None) -> StoredEvent | None:
        raise ReadOnlyCalendar(DEFAULT_NAME)

    async def put(self, calendar: str, event: CalendarEntry, *, ref: str | None, replaces: str | None) -> StoredEvent:
        raise ReadOnlyCalendar(DEFAULT_NAME)

    async def delete(self, calendar: str, ref: str, *, replaces: str, tells: bool = False) -> None:
        raise ReadOnlyCalendar(DEFAULT_NAME)

    async def close(self) -> None:
        await self._client.aclose()

    async def _get(self, headers: Mapping[str, str]) -> httpx2.Response:
        try:
            response = await self._client.get(self._url, headers=headers)
        except (OutboundFailed, OutboundRefused) as fault:
            raise to_calendar_fault(fault) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError):
            raise CalendarUnreachable(BAD_ADDRESS) from None
        if response.status_code in {401, 403}:
            raise CalendarSignInFailed
        if response.status_code in {404, 410}:
            raise CalendarGone
        if response.status_code == 304:
            return response
        if response.status_code != 200:
            raise CalendarUnreachable(FEED_STATUS.fill(status=response.status_code))
        # A sign-in page or an incomplete feed must not look like an empty calendar.
        body = response.content.upper()
        if b"BEGIN:VCALENDAR" not in body[:65536] or b"END:VCALENDAR" not in body[-65536:]:
            raise CalendarUnreadable(INCOMPLETE_FEED)
        return response


def _find_header(response: httpx2.Response, name: str) -> str | None:
    """Find a header that can be sent back as it came."""
    value = response.headers.get(name)
    return value if value and value.isascii() and value.isprintable() else None


def _split(body: bytes) -> dict[str, ICalObject]:
    """Split a feed into its events, each with the zones that it names."""
    # NUL can't be stored.
    filtered = filter_text(body.replace(b"\0", b"").decode(errors="replace"))
    objects: dict[str, ICalObject] = {}
    budget = Budget()
    for href, group in filtered.events.items():
        text = budget.keep(filtered.write(group))
        objects[href] = ICalObject(href=href, etag=hashlib.sha256(text.encode()).hexdigest()[:32], text=text)
    return objects
