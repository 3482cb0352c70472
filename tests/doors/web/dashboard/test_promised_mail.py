"""No page promises an email where none is sent: every text that does knows whether a mail server is set up."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2

import openslot.doors.web
from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.support.bookings import public_body
from tests.support.host import Book
from tests.support.page import read_page
from tests.support.page_templates import TEMPLATES
from tests.support.sources import list_modules, parse, read_source

PROMISE = re.compile(
    r"by email\b|get an email|an email with|We sent a|[Ww]e send an|We'll email|(?:is|are|be) notified\b"
)
# A module without them promises nothing, and need not be parsed.
MAY_PROMISE = re.compile(r"email|We sent|We'll|[Ww]e send|notified")
# They speak of a wish or of the past, or of a mail that is read in the mailbox.
NOT_PROMISED = (
    "enter a code that they get by email",
    "you get no reminder by email",
    "so nobody is notified",
    "Nobody is notified",
    "No one is notified",
    "nobody gets it by email",
    "We send the invitation by email",
    "was notified and will contact you",
)
KNOWS = ("keeps_mail", "layout/no_mail.html")


def promises(text: str) -> bool:
    for phrase in NOT_PROMISED:
        text = text.replace(phrase, "")
    return PROMISE.search(text) is not None


def test_every_template_that_promises_a_mail_knows_whether_one_is_sent() -> None:
    ignorant = [
        path.relative_to(TEMPLATES).as_posix()
        for path in TEMPLATES.rglob("*.html")
        if promises(text := path.read_text()) and not any(each in text for each in KNOWS)
    ]
    # Its macro is called by pages, each of which says below it that no mail server is set up.
    assert ignorant == ["dashboard/parts.html"]
    for path in TEMPLATES.rglob("*.html"):
        text = path.read_text()
        assert "requests_of_leaver(" not in text or path.name == "parts.html" or any(each in text for each in KNOWS), (
            path
        )


def list_promises(module: ast.Module) -> Iterator[str]:
    """List the texts of a module that promise a mail outside of a `MailNotice`, which has a text for both cases."""
    spared = {
        id(each)
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "MailNotice"
        for each in ast.walk(call)
    }
    for each in ast.walk(module):
        text = each.value if isinstance(each, ast.Constant) and id(each) not in spared else None
        if isinstance(text, str) and " " in text and promises(text):
            yield text


def test_every_text_of_a_handler_that_promises_a_mail_is_shown_where_one_is_sent() -> None:
    root = Path(openslot.doors.web.__file__).parent
    found = {
        (path.relative_to(root).as_posix(), text)
        for path in list_modules()
        if root in path.parents and MAY_PROMISE.search(read_source(path))
        for text in list_promises(parse(path))
        if '"""' not in text and not text.endswith("\n")
    }
    assert {path for path, _ in found} <= {
        # Shown beside `layout/no_mail.html`.
        "admin/approvals.py",
        # The template shows it if mail is sent.
        "dashboard/booking_forms.py",
        # Replaced on the booking page.
        "booking_page/refusals.py",
    }, found


async def test_without_a_mail_server_nobody_is_said_to_be_notified(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    booking = await book()
    asked = await member.get(f"/bookings/{booking.id}/reschedule", params={"start": "2026-03-17T10:00"})
    cancel = await member.get(f"/manage/{manage_token(runtime, booking.id)}/cancel")

    assert "Move Jonas Okafor to" in read_page(asked).text
    assert "will be notified" not in asked.text
    assert "No mail server is set up" in asked.text
    assert "will be notified" not in cancel.text
    assert "sees your reason on the page of the booking. This site sends no emails yet." in read_page(cancel).text


async def test_without_a_mail_server_a_code_is_not_said_to_be_sent_and_the_host_is_warned(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    proving = await offer(runtime, user, "proving", requires_email_verification=True)
    sent = public_body(proving)
    typed = {"name": "Li", "email": "li@wei.example", "tz": "UTC", "start": sent["startTime"]}
    asked = read_page(await member.post("/mara/proving", data=typed)).text
    editor = read_page(await member.get(f"/event-types/{proving.id}")).text

    assert "the code stays in its mailbox. Ask your host for it." in asked
    assert "We sent a code" not in asked
    assert "spam folder" not in asked
    assert "No mail server is set up: the code stays in the mailbox" in editor


async def test_without_a_mail_server_home_does_not_call_all_emails_delivered(member: httpx2.AsyncClient) -> None:
    text = read_page(await member.get("/")).text

    assert "All clear." in text
    assert "All emails" not in text
    assert "so no emails are sent" in text
