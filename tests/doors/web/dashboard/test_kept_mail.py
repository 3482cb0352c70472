"""Mail that stays in the embedded mailbox is nowhere called sent; with a mail server it is."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token, manage_url
from openslot.domains.mail.ports import Mailer
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.mail.fake_mailer import FakeMailer
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import Book, open_session
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.switches import resume, stop
from tests.support.wait_list import book_day

TEN = datetime(2026, 3, 17, 10, 0, tzinfo=UTC)
KEPT = "are in the mailbox: no mail server is set up"


@pytest.fixture
async def with_server(
    settings: Settings, clock: MovingClock, runtime: Runtime, user: User
) -> AsyncIterator[httpx2.AsyncClient]:
    """Sign a client in to the same installation once it has a mail server."""
    app = create_app(settings, clock=clock)
    app._open_runtime = lambda: open_runtime(settings, clock=clock, fakes={Mailer: FakeMailer()})
    async with serving(app) as base_url, connect(base_url, timeout=60) as opened:
        opened.headers.update(await open_session(runtime, user))
        yield opened


async def test_home_tells_how_many_mails_are_in_the_mailbox(
    member: httpx2.AsyncClient,
    with_server: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    book: Book,
    user: User,
    stranger: User,
) -> None:
    assert KEPT not in read_page(await member.get("/")).text
    await book()
    await work_off(runtime, clock)
    own = read_page(await member.get("/"))
    assert f"2 emails {KEPT}" in own.text
    assert "Ask the administrator" in own.text
    assert "/admin/mailbox" not in own.addresses

    # Another host has none; an administrator of the platform counts everyone's.
    member.headers.update(await open_session(runtime, stranger))
    assert KEPT not in read_page(await member.get("/")).text
    await runtime.pool.execute("update users set is_admin = true where id = $1", stranger.id)
    all_of_them = read_page(await member.get("/"))
    assert f"2 emails {KEPT}" in all_of_them.text
    assert "/admin/mailbox" in all_of_them.addresses

    # Once there is a server nothing waits; what was kept before is still called kept.
    assert KEPT not in read_page(await with_server.get("/")).text


async def test_a_booking_says_that_its_mails_were_not_sent(
    member: httpx2.AsyncClient, with_server: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    await work_off(runtime, clock)
    for client in (member, with_server):
        shown = read_page(await client.get(f"/bookings/{booking.id}")).text
        assert shown.count("in the mailbox, not sent") == 2
    await runtime.pool.execute("update mail_messages set transport = 'smtp' where role = 'invitee'")
    assert read_page(await member.get(f"/bookings/{booking.id}")).text.count("in the mailbox, not sent") == 1


@pytest.mark.parametrize(
    ("done", "sent"), [("booked", "created"), ("moved", "rescheduled"), ("cancelled", "cancelled")]
)
async def test_a_host_reads_whether_anybody_is_notified(
    member: httpx2.AsyncClient, with_server: httpx2.AsyncClient, book: Book, done: str, sent: str
) -> None:
    path = f"/bookings/{(await book()).id}?done={done}"
    assert read_page(await member.get(path)).notices == [
        f"The booking was {sent}. No mail server is set up, so nobody is notified."
    ]
    assert "will be notified by email" in read_page(await with_server.get(path)).notices[0]


async def test_an_invitee_reads_whether_a_confirmation_comes(
    member: httpx2.AsyncClient, with_server: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    path = f"/manage/{manage_token(runtime, (await book()).id)}?done=booked"
    kept, sent = [read_page(await client.get(path)).text for client in (member, with_server)]

    assert "This site sends no emails yet. Keep the address of this page" in kept
    assert "you get no reminder by email" in kept
    assert "on its way" not in kept
    assert "in your email" not in kept
    assert "A confirmation is on its way to jonas@okafor.example." in sent
    assert "You get a reminder by email" in sent


async def test_guests_are_promised_an_invitation_only_where_mail_is_sent(
    member: httpx2.AsyncClient, with_server: httpx2.AsyncClient
) -> None:
    kept, sent = [(await client.get("/mara/30min")).text for client in (member, with_server)]

    assert ("Up to 10, one per line" in kept, "an invitation by email" in kept) == (True, False)
    assert "Up to 10, one per line. They get an invitation by email." in sent


async def test_who_waits_for_a_link_reads_where_it_is(
    member: httpx2.AsyncClient, with_server: httpx2.AsyncClient
) -> None:
    for client in (member, with_server):
        client.headers.pop("cookie")
    kept, sent = [read_page(await each.get("/password/forgot?done=sent")) for each in (member, with_server)]
    assert kept.headings == ["Ask for the link"]
    assert "sent" not in kept.text
    assert sent.headings == ["Check your email"]


async def test_who_disables_an_account_reads_whether_anybody_is_told(
    member: httpx2.AsyncClient, with_server: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    await runtime.pool.execute("update users set is_admin = true where id = $1", user.id)
    kept, sent = [
        read_page(await each.get(f"/admin/users/{stranger.id}/disable")).text for each in (member, with_server)
    ]

    assert "emails stay in the mailbox, and nobody gets them" in kept
    assert "mailbox" not in sent


async def test_who_gets_no_confirmation_reads_so_and_keeps_the_link(
    with_server: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    path = f"/manage/{manage_token(runtime, booking.id)}?done=booked"
    await stop(runtime)
    unsent = read_page(await with_server.get(path))
    await resume(runtime)
    sent = read_page(await with_server.get(path))

    link = manage_url(runtime, booking.id)
    assert "No email was sent to jonas@okafor.example. Keep this link" in unsent.text
    assert "on its way" not in unsent.text
    assert "in your email" not in unsent.text
    assert link in unsent.text
    assert "on its way" in sent.text
    assert link not in sent.text


async def test_who_gets_no_email_about_a_request_reads_so_and_keeps_the_link(
    with_server: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    booking = await book_day(runtime, asked, TEN)
    path = f"/manage/{manage_token(runtime, booking.id)}?done=booked"
    await stop(runtime)
    unsent = read_page(await with_server.get(path))
    await resume(runtime)
    sent = read_page(await with_server.get(path))

    assert "No email was sent to first@x.example. Keep this link: it shows the answer." in unsent.text
    assert "The answer is sent to" not in unsent.text
    assert manage_url(runtime, booking.id) in unsent.text
    assert "The answer is sent to first@x.example." in sent.text
    assert "Keep this link" not in sent.text
