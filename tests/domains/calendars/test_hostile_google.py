"""A Google, or a proxy in its place, that answers with nonsense or without end: a fault, never an empty calendar."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from openslot.domains.calendars.errors import CalendarFault
from openslot.domains.oauth.models import OneToken
from openslot.platform.core.outbound import Outbound
from openslot.vendors.google import calendars as adapter
from openslot.vendors.google.calendars import GoogleCalendars
from openslot.vendors.google.client import path_of
from tests.support.fake_server import Answer, Request, listening
from tests.support.google_host import LOOPBACK
from tests.support.ical import scope

SCOPE = scope("2026-03-15", "2026-03-20")
TIMES = {"start": {"dateTime": "2026-03-16T09:00:00Z"}, "end": {"dateTime": "2026-03-16T10:00:00Z"}}


class Liar:
    """Answers every request with the next thing that it was told, and then with the last one again."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[Request] = []
        self.headers: dict[str, str] = {}

    async def serve(self, request: Request) -> Answer:
        self.asked.append(request)
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        status, body = said if isinstance(said, tuple) else (200, said)
        return Answer(status, body if isinstance(body, bytes) else json.dumps(body).encode(), self.headers)


@pytest.fixture
def liar() -> Liar:
    """Give a server that is told what to answer."""
    return Liar()


@pytest.fixture
async def server(liar: Liar) -> AsyncIterator[GoogleCalendars]:
    """Open an account there."""
    async with listening(liar.serve) as url:
        opened = GoogleCalendars(Outbound(allow=LOOPBACK), url, OneToken("ya29.token"))
        yield opened
        await opened.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>Sign in</html>",
        b"",
        b"\xff\xfe",
        {},
        {"items": []},
        {"items": {}},
        {"items": [{}]},
        {"items": [{"id": 5}], "nextSyncToken": "t"},
        {"items": [{"id": "a", "start": "now"}], "nextSyncToken": "t"},
        (204, b""),
        (302, b""),
        (418, b"teapot"),
    ],
    ids=str,
)
async def test_nonsense_is_a_fault_and_not_an_empty_calendar(liar: Liar, server: GoogleCalendars, answer: Any) -> None:
    liar.answers = [answer]

    with pytest.raises(CalendarFault):
        await server.list_changes("work", cursor=None, known={"a": "1"}, scope=SCOPE)
    assert len(liar.asked) == 1


async def test_a_redirect_is_not_followed_with_the_token(liar: Liar, server: GoogleCalendars) -> None:
    liar.answers = [(302, b"")]
    liar.headers = {"Location": "/elsewhere"}

    with pytest.raises(CalendarFault):
        await server.list_calendars()
    assert len(liar.asked) == 1


async def test_pages_without_end_are_left(liar: Liar, server: GoogleCalendars, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MAX_PAGES", 5)
    liar.answers = [{"items": [], "nextPageToken": "again"}]

    with pytest.raises(CalendarFault):
        await server.list_changes("work", cursor=None, known={}, scope=SCOPE)
    assert len(liar.asked) == 5


async def test_a_calendar_with_too_many_events_is_a_fault(
    liar: Liar, server: GoogleCalendars, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MAX_EVENTS", 3)
    items = [{"id": f"event{number}", "etag": "1", **TIMES} for number in range(4)]
    liar.answers = [{"items": items, "nextSyncToken": "t"}]

    with pytest.raises(CalendarFault, match="more than 3 events"):
        await server.list_changes("work", cursor=None, known={}, scope=SCOPE)


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"start": {"dateTime": "yesterday"}, "end": {"dateTime": "2026-03-16T10:00:00Z"}},
        {"start": {"date": "2026-02-30"}, "end": {"date": "2026-03-01"}},
        {"start": {"dateTime": "9999-12-31T23:59:59-14:00"}, "end": {"dateTime": "9999-12-31T23:59:59-14:00"}},
        {"start": {"date": "0001-01-01"}, "end": {"date": "0001-01-02"}},
    ],
)
async def test_an_event_without_a_time_that_can_be_read_is_counted_and_spoils_no_other(
    liar: Liar, server: GoogleCalendars, times: dict[str, Any]
) -> None:
    broken, sound = {"id": "broken", "etag": "1", **times}, {"id": "sound", "etag": "1", **TIMES}
    liar.answers = [{"items": [broken, sound], "nextSyncToken": "t"}]

    changes = await server.list_changes("work", cursor=None, known={}, scope=SCOPE)

    assert {each.ref: (each.is_unread, len(each.spans)) for each in changes.changed} == {
        "broken": (True, 0),
        "sound": (False, 1),
    }


@pytest.mark.parametrize("event_id", ["", "a\x00b", "a\nb", "x" * 1025])
async def test_an_id_that_can_not_be_kept_is_left_out(liar: Liar, server: GoogleCalendars, event_id: str) -> None:
    liar.answers = [{"items": [{"id": event_id, "etag": "1", **TIMES}], "nextSyncToken": "t"}]

    assert (await server.list_changes("work", cursor=None, known={}, scope=SCOPE)).changed == ()


async def test_a_uid_is_cut_and_can_be_stored(liar: Liar, server: GoogleCalendars) -> None:
    uid = "\0\n" + "u" * 100_000
    liar.answers = [{"items": [{"id": "a", "etag": "1\0", "iCalUID": uid, **TIMES}], "nextSyncToken": "t"}]

    (found,) = (await server.list_changes("work", cursor=None, known={}, scope=SCOPE)).changed

    assert (found.uid, found.version) == ("u" * 500, "1")


def test_an_id_can_not_lead_to_another_path() -> None:
    assert path_of("../../users/me", "a/b?c#d") == "calendars/..%2F..%2Fusers%2Fme/events/a%2Fb%3Fc%23d"
