"""Shortcuts of writing mail give the bytes that the libraries give without them."""

import random
from email import policy
from email.generator import BytesGenerator
from email.headerregistry import Address

import icalendar
import pytest
from msgspec.structs import replace

from openslot.domains.mail import message
from openslot.domains.mail.calendar_entry import Attendee, write_calendar, write_entries
from openslot.domains.mail.message import HEADER_POLICY, fold_header, write_message
from openslot.domains.mail.models import MailAddress, Method
from openslot.platform.core.text import defuse, one_line
from tests.domains.mail.samples import ENTRY, INJECTIONS, MAIL, TEXTS

pytestmark = pytest.mark.rest("compares every byte with the library")

WORDS = (
    "Ada",
    "O'Neill",
    "Dr.",
    "x,y",
    "(late)",
    '"Q"',
    "a;b",
    "back\\slash",
    "Zoë",
    "=?",
    "@",
    "<",
    "[1]",
    "-",
    "et al.",
)


@pytest.mark.parametrize("seed", range(10))
def test_a_short_header_is_what_the_library_writes(seed: int) -> None:
    drawn = random.Random(seed)
    for _ in range(60):
        text = " ".join(drawn.choices(WORDS, k=drawn.randrange(1, 14)))
        name = text.replace("<", "").replace("@", "").replace("=?", "").strip()
        written = (
            fold_header("Subject", text, HEADER_POLICY),
            fold_header("To", MailAddress("a@b.example", name), HEADER_POLICY),
        )
        subject = _fold("Subject", text.replace("=?", "= ?"))
        assert written == (subject, _fold("To", Address(defuse(one_line(name)), "a", "b.example")))


def _fold(name: str, value: str | Address) -> str:
    whole: str = policy.SMTP.fold(*policy.SMTP.header_store_parse(name, value))
    return whole.removeprefix(f"{name}:").lstrip(" ").removesuffix("\r\n")


@pytest.mark.parametrize("text", [*TEXTS.values(), *INJECTIONS[:-2]])
def test_parts_are_what_the_library_writes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mail = replace(MAIL, text=text, html=text.replace("\ud800", ""))
    mail = replace(mail, text=mail.html)
    written = write_message(mail)
    monkeypatch.setattr(message, "WholeParts", BytesGenerator)
    assert written == write_message(mail)


@pytest.mark.parametrize("text", ["", "short", "ü" * 34, "x" * 60, *INJECTIONS])
def test_a_calendar_is_what_the_library_writes(text: str) -> None:
    guest = Attendee(address=MailAddress("jonas@okafor.example", text), is_asked=True)
    entry = replace(ENTRY, summary=text or "x", description=text, location=text, attendees=(guest, *ENTRY.attendees))
    for each in (entry, replace(entry, is_kept_by_server=True, url=None)):
        for written in (write_calendar(each, Method.REQUEST), write_entries([each, ENTRY], properties={"x-name": "y"})):
            assert icalendar.Calendar.from_ical(written).to_ical() == written
