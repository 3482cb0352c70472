"""The bytes of a mail: nothing that a person types becomes a header, and calendars read what we send."""

import re
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

import icalendar
import pytest
import vobject  # type: ignore[import-untyped]
from msgspec.structs import replace

from openslot.domains.mail.calendar_entry import Attendee, google_url, outlook_url, write_calendar, write_entries
from openslot.domains.mail.message import write_message
from openslot.domains.mail.models import MailAddress, Method
from openslot.platform.core.text import find_name, one_line, paragraph
from tests.domains.mail.samples import ENTRY, ID, INJECTIONS, MAIL, TEXTS

HEADERS = {
    "message-id",
    "date",
    "from",
    "to",
    "reply-to",
    "subject",
    "references",
    "content-language",
    "auto-submitted",
    "x-auto-response-suppress",
    "mime-version",
    "content-type",
}


def read(content: bytes) -> EmailMessage:
    return message_from_bytes(content, policy=policy.default)


def read_calendar(content: bytes) -> icalendar.Event:
    (event,) = icalendar.Calendar.from_ical(content).walk("VEVENT")
    return cast("icalendar.Event", event)


def test_a_mail_has_text_html_and_an_invitation_twice() -> None:
    message = read(write_message(MAIL))
    assert [part.get_content_type() for part in message.walk()] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "text/html",
        "text/calendar",
        "application/ics",
    ]
    parts = list(message.walk())
    assert parts[4].get_param("method") == "REQUEST"
    assert parts[4].get_content_charset() == "utf-8"
    assert parts[5].get_filename() == "invite.ics"
    assert MAIL.calendar is not None
    assert parts[5].get_content() == MAIL.calendar.content


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_and_html_are_read_as_they_were_written(text: str) -> None:
    for calendar in (MAIL.calendar, None):
        content = write_message(replace(MAIL, text=text, html=text, calendar=calendar))
        message = read(content)
        bodies = [part.get_content() for part in message.walk() if part.get_content_maintype() == "text"][:2]
        assert [body.splitlines() for body in bodies] == [re.split("\r\n|\r|\n", text.rstrip("\r\n"))] * 2 or not text
        assert max(len(line) for line in content.partition(b"\r\n\r\n")[2].split(b"\r\n")) <= 78
        assert b"\n" not in content.replace(b"\r\n", b"")
        assert b"=0D" not in content
        assert not any(part.defects for part in message.walk())


def test_the_same_mail_is_the_same_bytes() -> None:
    assert write_message(MAIL) == write_message(MAIL)


def test_its_id_is_fixed_and_no_machine_answers_it() -> None:
    message = read(write_message(MAIL))
    assert message["Message-ID"] == f"<{ID}@here.example>"
    assert message["Auto-Submitted"] == "auto-generated"


@pytest.mark.parametrize("text", INJECTIONS, ids=range(len(INJECTIONS)))
def test_no_text_becomes_a_header(text: str) -> None:
    hostile = replace(
        MAIL,
        sender=MailAddress("bookings@here.example", text),
        to=MailAddress("jonas@okafor.example", text),
        reply_to=MailAddress("mara@lindqvist.example", text),
        subject=text,
    )
    content = write_message(hostile)
    head = content.partition(b"\r\n\r\n")[0]
    names = {line.partition(b":")[0].decode().lower() for line in head.split(b"\r\n") if line[:1] not in b" \t"}
    assert names == HEADERS
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert b"\x00" not in content
    message = read(content)
    assert [address.addr_spec for address in message["To"].addresses] == ["jonas@okafor.example"]
    assert [address.addr_spec for address in message["From"].addresses] == ["bookings@here.example"]
    assert len(message["Subject"]) <= 200
    assert max(len(line) for line in content.split(b"\r\n")) <= 998


@pytest.mark.parametrize("text", INJECTIONS, ids=range(len(INJECTIONS)))
def test_no_text_becomes_a_line_of_the_calendar(text: str) -> None:
    hostile = replace(
        ENTRY,
        summary=text,
        description=text,
        location=text,
        organizer=MailAddress("mara@lindqvist.example", text),
        attendees=(Attendee(address=MailAddress("jonas@okafor.example", text)),),
    )
    plain, written = read_calendar(write_calendar(ENTRY, Method.REQUEST)), write_calendar(hostile, Method.REQUEST)
    event = read_calendar(written)
    assert {name for name in event if name != "DESCRIPTION"} == {name for name in plain if name != "DESCRIPTION"}
    assert str(event["attendee"]) == "mailto:jonas@okafor.example"
    assert len(written) < 50_000
    assert all(len(line) <= 75 for line in written.split(b"\r\n"))


def test_a_calendar_reads_back_what_was_written() -> None:
    event = read_calendar(write_calendar(ENTRY, Method.REQUEST))
    assert event["uid"] == ENTRY.uid
    assert event["sequence"] == 2
    assert event.decoded("dtstart") == ENTRY.starts_at
    assert event.decoded("dtend") == ENTRY.ends_at
    assert event["description"] == ENTRY.description
    assert event["status"] == "CONFIRMED"
    assert event["organizer"].params["CN"] == "Mara Lindqvist"
    booked, asked = cast("list[icalendar.vCalAddress]", event["attendee"])
    assert (booked.params["PARTSTAT"], booked.params["RSVP"]) == ("ACCEPTED", "FALSE")
    assert (asked.params["PARTSTAT"], asked.params["RSVP"]) == ("NEEDS-ACTION", "TRUE")


def test_a_cancellation_takes_the_entry_back() -> None:
    written = write_calendar(ENTRY, Method.CANCEL)
    assert icalendar.Calendar.from_ical(written)["method"] == "CANCEL"
    assert read_calendar(written)["status"] == "CANCELLED"


def test_a_server_that_keeps_an_entry_sends_no_invitations_of_its_own() -> None:
    written = write_calendar(replace(ENTRY, is_kept_by_server=True))
    event = read_calendar(written)
    people = [event["organizer"], *cast("list[icalendar.vCalAddress]", event["attendee"])]
    assert [person.params["SCHEDULE-AGENT"] for person in people] == ["CLIENT"] * 3
    assert b"SCHEDULE-AGENT" not in write_calendar(ENTRY)


def test_all_entries_of_a_calendar_are_read_by_two_other_implementations() -> None:
    entries = [replace(ENTRY, uid=f"{number}@openslot", is_cancelled=number == 1) for number in range(3)]
    written = write_entries(entries, properties={"x-wr-calname": "Openslot"})

    events = icalendar.Calendar.from_ical(written).walk("VEVENT")
    assert [(event["uid"], event["status"]) for event in events] == [
        ("0@openslot", "CONFIRMED"),
        ("1@openslot", "CANCELLED"),
        ("2@openslot", "CONFIRMED"),
    ]
    assert not any(event.errors for event in events)
    other = vobject.readOne(written.decode())
    assert [event.dtstart.value for event in other.vevent_list] == [ENTRY.starts_at] * 3
    assert other.vevent_list[0].description.value == ENTRY.description


def test_addresses_beyond_ascii_are_written_as_the_network_knows_them() -> None:
    domain = read(write_message(replace(MAIL, to=MailAddress("jonas@bücher.example"))))
    assert domain["To"].addresses[0].addr_spec == "jonas@xn--bcher-kva.example"
    local = write_message(replace(MAIL, to=MailAddress("jörg@okafor.example")))
    assert "jörg@okafor.example".encode() in local.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Jonas Okafor", "Jonas Okafor"),
        ("  Dr.  J. R.\tMüller-Ødegård  ", "Dr. J. R. Müller-Ødegård"),
        ("山田 太郎", "山田 太郎"),
        ("Win at https://spam.example", None),
        ("visit www.spam", None),
        ("spam.example has prizes", None),
        ("me@else.example", None),
        ("<b>Jonas</b>", None),
        ("x" * 61, None),
        ("\r\n", None),
        ("", None),
    ],
)
def test_a_name_is_a_name_and_no_advertisement(given: str, name: str | None) -> None:
    assert find_name(given) == name


def test_a_line_stays_one_line_and_short() -> None:
    assert one_line("a\r\nb\u2028c\x00d") == "a b c d"
    assert one_line("x" * 300) == "x" * 199 + "…"


def test_a_paragraph_keeps_its_lines() -> None:
    assert paragraph("a\r\nb\rc\n\nd\x00") == "a\nb\nc\n\nd"
    assert len(paragraph("x\n" * 1_000_000)) <= 5000


def test_links_put_the_meeting_into_a_calendar() -> None:
    google, outlook = google_url(ENTRY), outlook_url(ENTRY)
    assert "dates=20260320T090000Z%2F20260320T093000Z" in google
    assert "text=Intro%20call%20with%20Mara%20Lindqvist" in google
    assert "startdt=2026-03-20T09%3A00%3A00Z" in outlook
    assert "location=Sveav%C3%A4gen%201%2C%20Stockholm" in outlook
