"""The fake behaves as Graph is documented: ids, times, events, online meetings, deltas and limits."""

import asyncio
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import GONE, INVALID, NOT_FOUND, FakeMicrosoft, Fault, FaultKind, Mailbox
from tests.support.graph_client import (
    IMMUTABLE,
    IN_UTC,
    OWN,
    GraphClient,
    at,
    booking,
    daily,
    delta_of,
    events_of,
    fake,
    graph,
    mailbox,
)

pytestmark = pytest.mark.rest("tests a fake of a vendor")

__all__ = ["fake", "graph", "mailbox"]


async def test_calendars_come_in_pages_and_the_default_one_anywhere(graph: GraphClient, mailbox: Mailbox) -> None:
    for number in range(12):
        mailbox.add_calendar(f"Team {number}", can_edit=False)

    first = await graph.get("me/calendars?$select=id,name,canEdit,isDefaultCalendar")
    second = await graph.get(first["@odata.nextLink"])

    assert (len(first["value"]), len(second["value"])) == (10, 3)
    assert [each["canEdit"] for each in second["value"] if each["isDefaultCalendar"]] == [True]
    assert "owner" not in first["value"][0]
    assert (await graph.get("me"))["mail"] == mailbox.email


@pytest.mark.parametrize(
    ("prefer", "start", "zone"),
    [
        (IN_UTC, "2026-03-16T08:00:00.0000000", "UTC"),
        ('outlook.timezone="Eastern Standard Time"', "2026-03-16T04:00:00.0000000", "Eastern Standard Time"),
        ("", "2026-03-16T09:00:00.0000000", "W. Europe Standard Time"),
    ],
)
async def test_times_have_seven_digits_and_no_offset(
    graph: GraphClient, mailbox: Mailbox, prefer: str, start: str, zone: str
) -> None:
    given = booking(start=at(9, "Europe/Berlin"), end=at(10, "W. Europe Standard Time"))
    made = (await graph.send("POST", events_of(mailbox), given)).json()

    shown = await graph.get(f"me/events/{quote(made['id'])}", prefer=prefer)

    assert shown["start"] == {"dateTime": start, "timeZone": zone}


async def test_without_immutable_ids_an_event_that_moves_is_another_one(graph: GraphClient, mailbox: Mailbox) -> None:
    made = (await graph.send("POST", events_of(mailbox), booking())).json()
    plain = await graph.get(f"me/events/{quote(made['id'])}", prefer="")
    assert plain["id"] != made["id"]
    other = mailbox.add_calendar("Other")

    mailbox.move_to(made["id"], other)

    assert (await graph.get(f"me/events/{quote(made['id'])}"))["id"] == made["id"]
    assert (await graph.send("GET", f"me/events/{quote(plain['id'])}")).status_code == 404
    assert (await graph.send("GET", f"{events_of(mailbox)}/{quote(made['id'])}")).status_code == 404


async def test_one_transaction_makes_one_event(graph: GraphClient, mailbox: Mailbox) -> None:
    given = booking(transactionId="a")
    first = await graph.send("POST", events_of(mailbox), given)
    second = await graph.send("POST", events_of(mailbox), given)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["id"] == second.json()["id"]
    assert len(mailbox.calendars[mailbox.default].items) == 1

    other = await graph.send("POST", events_of(mailbox), {**given, "end": at(11)})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "ErrorDuplicateTransactionId")
    await graph.send("DELETE", f"me/events/{quote(first.json()['id'])}")
    assert (await graph.send("POST", events_of(mailbox), given)).status_code == 409


async def test_an_extended_property_is_shown_and_found_by_who_names_it(graph: GraphClient, mailbox: Mailbox) -> None:
    given = booking(singleValueExtendedProperties=[{"id": OWN, "value": "1"}])
    made = (await graph.send("POST", events_of(mailbox), given)).json()
    await graph.send("POST", events_of(mailbox), booking())
    assert "singleValueExtendedProperties" not in made
    expand = urlencode({"$expand": f"singleValueExtendedProperties($filter=id eq '{OWN}')"})

    shown = await graph.get(f"me/events/{quote(made['id'])}?{expand}&$select=id")
    assert shown["singleValueExtendedProperties"] == [{"id": OWN, "value": "1"}]

    asked = f"singleValueExtendedProperties/Any(ep: ep/id eq '{OWN}' and ep/value eq '1')"
    found = await graph.get(f"{events_of(mailbox)}?{urlencode({'$filter': asked})}")
    assert [each["id"] for each in found["value"]] == [made["id"]]


async def test_attendees_get_mail_always(graph: GraphClient, mailbox: Mailbox) -> None:
    await graph.send("POST", events_of(mailbox), booking())
    assert mailbox.mails == []
    jonas = {"emailAddress": {"address": "jonas@okafor.example"}, "type": "required"}
    made = (await graph.send("POST", events_of(mailbox), booking(attendees=[jonas]))).json()
    await graph.send("PATCH", f"me/events/{quote(made['id'])}", {"start": at(8)})
    await graph.send("DELETE", f"me/events/{quote(made['id'])}")

    assert [each[0] for each in mailbox.mails] == ["invitation", "update", "cancellation"]


async def test_an_event_is_changed_and_deleted_under_its_etag(graph: GraphClient, mailbox: Mailbox) -> None:
    made = (await graph.send("POST", events_of(mailbox), booking())).json()
    place = f"me/events/{quote(made['id'])}"
    changed = await graph.send("PATCH", place, {"end": at(11)}, If_Match=made["@odata.etag"])
    assert changed.status_code == 200
    assert changed.json()["changeKey"] != made["changeKey"]

    for method, body in (("PATCH", {"end": at(12)}), ("DELETE", None)):
        assert (await graph.send(method, place, body, If_Match=made["@odata.etag"])).status_code == 412
    assert (await graph.send("DELETE", place, If_Match=changed.json()["@odata.etag"])).status_code == 204
    assert (await graph.send("DELETE", place)).status_code == 404


async def test_an_online_meeting_has_its_link_later_and_loses_it_with_its_part_of_the_body(
    graph: GraphClient, mailbox: Mailbox, clock: MovingClock
) -> None:
    online = {"isOnlineMeeting": True, "onlineMeetingProvider": "teamsForBusiness"}
    body = {"contentType": "text", "content": "Hello"}
    made = (await graph.send("POST", events_of(mailbox), booking(**online, body=body))).json()
    place = f"me/events/{quote(made['id'])}"
    assert made["onlineMeeting"] is None

    clock.pass_time(seconds=5)
    shown = await graph.get(place)
    assert shown["onlineMeeting"]["joinUrl"].startswith("https://teams.microsoft.com/")
    assert shown["@odata.etag"] != made["@odata.etag"]
    moved = (await graph.send("PATCH", place, {"start": at(8), "isOnlineMeeting": False})).json()
    assert moved["onlineMeeting"] == shown["onlineMeeting"]
    lost = (await graph.send("PATCH", place, {"body": body})).json()
    assert (lost["isOnlineMeeting"], lost["onlineMeeting"]) == (False, None)

    mailbox.calendars[mailbox.default].providers = []
    assert (await graph.send("POST", events_of(mailbox), booking(**online))).status_code == 400


@pytest.mark.parametrize("page_size", [1, 1000])
async def test_a_round_brings_the_window_and_the_next_one_what_has_changed(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, page_size: int
) -> None:
    deltas = fake.deltas[mailbox.email]
    deltas.page_size, deltas.begins_with_an_empty_page = page_size, page_size == 1
    for name in ("same", "other", "gone"):
        mailbox.edit(mailbox.default, name, start=at(9), end=at(10))
    mailbox.edit(mailbox.default, "far", start=at(9, day=25), end=at(10, day=25))
    found, link = await graph.read_round(delta_of(mailbox))
    assert {each["subject"] for each in found} == {"same", "other", "gone"}

    mailbox.edit(mailbox.default, "other", start=at(11), end=at(12))
    mailbox.edit(mailbox.default, "far", start=at(11, day=25), end=at(12, day=25))
    ids = {each["subject"]: each["id"] for each in found}
    mailbox.delete(*mailbox.find(ids["gone"]))
    found, link = await graph.read_round(link)

    # One that has changed outside the window is told of as if it were gone.
    removed = [each["id"] for each in found if each.get("@removed") == {"reason": "deleted"}]
    assert (len(removed), ids["gone"] in removed) == (2, True)
    assert [each["subject"] for each in found if "@removed" not in each] == ["other"]
    assert (await graph.read_round(link))[0] == []
    assert page_size == 1000 or len(fake.asked) > 8


async def test_repetitions_come_without_what_the_series_says(graph: GraphClient, mailbox: Mailbox) -> None:
    mailbox.edit(mailbox.default, "daily", start=at(9), end=at(10), recurrence=daily(30), showAs="free")
    mailbox.edit_series(mailbox.default, "daily", "20260317")
    mailbox.edit_series(mailbox.default, "daily", "20260318", subject="Other", showAs="busy")

    found, _ = await graph.read_round(delta_of(mailbox))

    kinds = [(each["start"]["dateTime"][:10], each["type"]) for each in found]
    assert kinds == [("2026-03-16", "occurrence"), ("2026-03-18", "exception"), ("2026-03-19", "occurrence")]
    assert set(found[0]) == {"@odata.type", "@odata.etag", "id", "seriesMasterId", "type", "start", "end"}
    assert found[1]["showAs"] == "busy"
    master = await graph.get(f"me/events/{quote(found[0]['seriesMasterId'])}")
    assert (master["type"], master["showAs"], master["recurrence"]["pattern"]["type"]) == (
        "seriesMaster",
        "free",
        "daily",
    )
    one = await graph.get(f"me/events/{quote(found[0]['id'])}")
    assert (one["subject"], one["seriesMasterId"]) == ("daily", found[0]["seriesMasterId"])


async def test_an_event_that_has_moved_leaves_one_calendar_and_comes_to_the_other(
    graph: GraphClient, mailbox: Mailbox
) -> None:
    made = (await graph.send("POST", events_of(mailbox), booking())).json()
    other = mailbox.add_calendar("Other")
    _, here = await graph.read_round(delta_of(mailbox))
    _, there = await graph.read_round(delta_of(mailbox, other))

    mailbox.move_to(made["id"], other)

    assert [(each["id"], "@removed" in each) for each in (await graph.read_round(here))[0]] == [(made["id"], True)]
    assert [(each["id"], "@removed" in each) for each in (await graph.read_round(there))[0]] == [(made["id"], False)]


async def test_what_was_told_may_be_told_again(graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox) -> None:
    fake.deltas[mailbox.email].replays = True
    mailbox.edit(mailbox.default, "one", start=at(9), end=at(10))

    found, link = await graph.read_round(delta_of(mailbox))
    assert [each["subject"] for each in found] == ["one", "one"]
    assert [each["subject"] for each in (await graph.read_round(link))[0]] == ["one"]
    assert (await graph.read_round((await graph.read_round(link))[1]))[0] == []


@pytest.mark.parametrize("resync", [GONE, NOT_FOUND, INVALID])
async def test_a_token_that_is_too_old_says_so(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, resync: Any
) -> None:
    _, link = await graph.read_round(delta_of(mailbox))
    fake.deltas[mailbox.email].forget_tokens(resync)

    refused = await graph.send("GET", link)

    assert (refused.status_code, refused.json()["error"]["code"]) == (resync.status, resync.code)
    assert ("location" in refused.headers) == resync.has_location
    if resync.has_location:
        assert (await graph.read_round(refused.headers["location"]))[0] == []


async def test_a_token_ends_by_the_clock(graph: GraphClient, mailbox: Mailbox, clock: MovingClock) -> None:
    _, link = await graph.read_round(delta_of(mailbox))
    clock.pass_time(days=31)
    graph.token = graph.fake.login.allow(mailbox.email, "Calendars.ReadWrite")

    assert (await graph.send("GET", link)).status_code == 410


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "DELTA&$select=id", None),
        ("GET", "DELTA&$filter=isAllDay", None),
        ("GET", "DELTA&$expand=attachments", None),
        ("GET", "DELTA&$orderby=start", None),
        ("GET", "DELTA&$skiptoken=a", None),
        ("GET", "me/events/delta", None),
        ("GET", "me/calendars?$orderby=name", None),
        ("GET", "EVENTS?$filter=subject eq 'a'", None),
        ("POST", "EVENTS", booking(iCalUId="a")),
        ("POST", "EVENTS", booking(id="a")),
        ("POST", "EVENTS", booking(start={"dateTime": "tomorrow", "timeZone": "UTC"})),
        ("POST", "EVENTS", booking(start=at(9, "Mars/Base"))),
        ("POST", "EVENTS", booking(isAllDay=True)),
        ("POST", "EVENTS", booking(end=at(8))),
        ("POST", "EVENTS", booking(showAs="away")),
        ("POST", "EVENTS", booking(subject=5)),
        ("POST", "EVENTS", {"subject": "no times"}),
        ("POST", "EVENTS", booking(singleValueExtendedProperties=[{"id": "openslot", "value": "1"}])),
        ("POST", "EVENTS?$select=id", booking()),
    ],
)
async def test_what_the_documentation_does_not_name_is_refused(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, method: str, path: str, body: Any
) -> None:
    place = path.replace("DELTA", delta_of(mailbox)).replace("EVENTS", events_of(mailbox))

    assert (await graph.send(method, place, body)).status_code == 400

    assert len(fake.refused) == 1
    assert mailbox.calendars[mailbox.default].items == []


async def test_an_update_can_not_change_the_transaction(graph: GraphClient, mailbox: Mailbox) -> None:
    made = (await graph.send("POST", events_of(mailbox), booking())).json()

    refused = await graph.send("PATCH", f"me/events/{quote(made['id'])}", {"transactionId": "b"})

    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("prefer", "status"),
    [
        (f'{IN_UTC}, odata.maxpagesize=5, outlook.body-content-type="text"', 200),
        ("odata.maxpagesize=0", 400),
        ("IdType=ImmutableId", 200),
        ('IdType="Other"', 400),
        (f"{IMMUTABLE}, {IMMUTABLE}", 400),
        ("respond-async", 400),
    ],
)
async def test_preferences_are_joined_by_commas(graph: GraphClient, prefer: str, status: int) -> None:
    assert (await graph.send("GET", "me/calendars", prefer=prefer)).status_code == status


async def test_more_than_four_requests_at_once_are_refused(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox
) -> None:
    fake.answers_take = 0.3
    answers = await asyncio.gather(*(graph.send("GET", "me/calendars") for _ in range(5)))

    assert sorted(each.status_code for each in answers) == [200, 200, 200, 200, 429]
    (refused,) = (each for each in answers if each.status_code == 429)
    assert "MailboxConcurrency" in refused.json()["error"]["message"]
    assert (refused.headers["retry-after"], mailbox.most_at_once) == ("1", 5)


async def test_a_mailbox_that_is_throttled_answers_again_by_the_clock(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox, clock: MovingClock
) -> None:
    mailbox.throttle(timedelta(seconds=20))
    refused = await graph.send("GET", "me")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "21")
    clock.pass_time(seconds=21)
    assert (await graph.send("GET", "me")).status_code == 200

    fake.refuse_next(503, "serviceNotAvailable", path="me", retry_after=7)
    refused = await graph.send("GET", "me")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "7")


async def test_an_answer_that_is_lost_was_carried_out(
    graph: GraphClient, fake: FakeMicrosoft, mailbox: Mailbox
) -> None:
    fake.faults.append(Fault(FaultKind.LOSE_ANSWER, "/v1.0/me/calendars", "POST"))

    with pytest.raises(Exception, match="disconnected"):
        await graph.send("POST", events_of(mailbox), booking())

    assert len(mailbox.calendars[mailbox.default].items) == 1


async def test_a_calendar_of_another_person_is_only_read(graph: GraphClient, mailbox: Mailbox) -> None:
    shared = mailbox.add_calendar("Shared", can_edit=False)

    refused = await graph.send("POST", f"me/calendars/{quote(shared)}/events", booking())

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ErrorAccessDenied")
