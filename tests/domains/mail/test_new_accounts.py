"""Links that a host has written show where they lead while the account is younger than a week: words can't hide it."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.accounts.profiles import operations as profiles
from openslot.domains.bookings.links import manage_token
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import Book, messages, part, work_off
from tests.support.clocks import MovingClock
from tests.support.page import read_page

CALL = "https://evil.example/login"
WELCOME = f"[Your bank]({CALL})"


@pytest.fixture(autouse=True)
async def newcomer(runtime: Runtime, user: User) -> None:
    """The host, as an account that was opened with the form to sign up, with links of its own."""
    await runtime.pool.execute("update users set plan = 'FREE', signed_up = true where id = $1", user.id)
    await runtime.pool.execute(
        "update event_types set location = $1, redirect_url = $2", f'{{"kind": "video_link", "value": "{CALL}"}}', CALL
    )
    async with runtime.transaction(OPERATOR) as work:
        await profiles.set_page_look(work, user, WELCOME, shows_footer=True)


async def test_words_of_a_welcome_are_no_link_for_a_week(client: httpx2.AsyncClient, clock: MovingClock) -> None:
    new = (await client.get("/mara")).text
    clock.pass_time(hours=7 * 24 + 1)
    old = (await client.get("/mara")).text

    assert f'<bdi dir="ltr">{CALL}</bdi></a>' in new
    assert ">Your bank</a>" not in new
    assert ">Your bank</a>" in old


async def test_what_somebody_vouches_for_is_shown_as_it_is(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    await runtime.pool.execute("update users set signed_up = false")

    assert ">Your bank</a>" in (await client.get("/mara")).text


async def test_buttons_to_a_call_say_where_it_is(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    await work_off(runtime, clock)
    (mail,) = await messages(runtime, "jonas@okafor.example")
    page = read_page(await client.get(f"/manage/{manage_token(runtime, booking.id)}?done=booked&embed=1"))

    assert "Join" not in part(mail, "text/html")
    assert f">{CALL}</a>" in part(mail, "text/html").replace("\n", "")
    assert "Join" not in page.text
    assert "Continue" not in page.text
    assert page.text.count(CALL) >= 2


async def test_a_week_later_they_are_called_what_they_do(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await runtime.pool.execute("update users set created_at = created_at - interval '8 days'")
    booking = await book()
    await work_off(runtime, clock)
    (mail,) = await messages(runtime, "jonas@okafor.example")

    assert "Join" in part(mail, "text/html")
    assert "Join" in read_page(await client.get(f"/manage/{manage_token(runtime, booking.id)}")).text
