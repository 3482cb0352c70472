"""The mailbox: every mail as its reader sees it, shut in a frame, with its text, source and attachments."""

import re
from email import message_from_bytes

import httpx2
import pytest

from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TWELVE, Book
from tests.support.page import read_page


@pytest.fixture
async def letter(admin: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book) -> str:
    """Book, and return the address of the page of the invitee's mail."""
    await book(name="<xss-probe>Jonas")
    await book(TWELVE, email="hana@kim.example")
    await work_off(runtime, clock)
    page = (await admin.get("/admin/mailbox?recipient=JONAS@okafor.example")).text
    found = re.search(r'href="(/admin/mailbox/[^"]+)"', page)
    assert found is not None
    return found[1]


async def test_a_mail_is_shown_with_all_its_parts(admin: httpx2.AsyncClient, letter: str) -> None:
    page = await admin.get(letter)
    source = await admin.get(f"{letter}/source")

    assert f'<iframe class="mail" sandbox src="{letter}/html"' in page.text
    assert "frame-src 'self'" in page.headers["content-security-policy"]
    assert "<xss-probe>" not in page.text
    assert "30 minute meeting" in read_page(page).text
    assert source.headers["content-disposition"].startswith("attachment; filename=")
    message = message_from_bytes(source.content)
    assert message["to"] is not None
    link = re.search(rf'href="({letter}/attachments/\d+)"', page.text)
    if link is not None:
        assert (await admin.get(link[1])).content
    assert (await admin.get(f"{letter}/attachments/99")).status_code == 404


async def test_the_html_can_do_nothing(admin: httpx2.AsyncClient, letter: str) -> None:
    answer = await admin.get(f"{letter}/html")
    policy = answer.headers["content-security-policy"]

    assert "<html" in answer.text.lower()
    assert policy.startswith("default-src 'none'")
    assert policy.endswith("sandbox")
    assert "script-src" not in policy
    assert "frame-ancestors 'self'" in policy


async def test_the_list_is_filtered_by_recipient(admin: httpx2.AsyncClient, letter: str) -> None:
    everyone = (await admin.get("/admin/mailbox")).text.count("booking-row")
    one = (await admin.get("/admin/mailbox?recipient=jonas@okafor.example")).text.count("booking-row")

    assert 0 < one < everyone
    assert "No email matches" in read_page(await admin.get("/admin/mailbox?recipient=nobody@nowhere.example")).text
    assert (await admin.get("/admin/mailbox?recipient=%00")).status_code == 400


async def test_a_message_that_was_not_kept_says_so(admin: httpx2.AsyncClient, runtime: Runtime, letter: str) -> None:
    await runtime.pool.execute("update mail_messages set content = null")

    assert "Only the entry in the log is kept" in read_page(await admin.get(letter)).notices[0]
    for part in ("html", "source", "attachments/1"):
        assert (await admin.get(f"{letter}/{part}")).status_code == 404
    assert (await admin.get("/admin/mailbox/01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f")).status_code == 404


async def test_what_stays_in_the_mailbox_is_not_called_sent(
    admin: httpx2.AsyncClient, runtime: Runtime, letter: str
) -> None:
    listed, opened = (await admin.get("/admin/mailbox")).text, (await admin.get(letter)).text
    await runtime.pool.execute("update mail_messages set transport = 'smtp'")
    sent = (await admin.get("/admin/mailbox")).text

    assert "Stored, not sent" in listed
    assert "Stored, not sent" in opened
    assert ("</svg>Sent</span>" in listed, "</svg>Sent</span>" in sent) == (
        False,
        True,
    )
