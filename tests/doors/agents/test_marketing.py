"""Marketing mail has a one-click link; who uses it gets none any more."""

import asyncio
import re
from collections.abc import AsyncIterator
from email.message import EmailMessage
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.doors.agents.calls import read_arguments
from openslot.doors.agents.emails import operations as emails
from openslot.doors.agents.tools.email import send_email
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import NotFound
from openslot.platform.core.smtp import MailFrom
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.mail.conftest import messages, part, read_message
from tests.doors.agents.emailing import JONAS, LETTER, POSTAL, growth, log, over, refusal, send, send_now
from tests.doors.agents.spending import call_of, clock
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.live import connect, serving
from tests.support.smtp_server import smtp_server

__all__ = ["clock"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(
        settings,
        postal_address=POSTAL,
        base_url="https://book.example.com",
        mail_from=MailFrom.parse("Acme <hello@acme.example>"),
    )


async def test_marketing_mail_arrives_with_a_one_click_link_and_the_postal_address(
    settings: Settings, clock: MovingClock
) -> None:
    async with smtp_server() as server, open_runtime(over(settings, server), clock=clock) as runtime:
        await send(runtime, growth(), "marketing")
        await work_off(runtime, clock)
        (received,) = server.received
        raw = received.content.decode()
        message: EmailMessage = read_message(received.content)
        (entry,) = await log(runtime)
        url = emails.unsubscribe_url(runtime, entry["marketing_recipient_id"])

    # As it is on the wire: a mail program does not decode encoded words here.
    assert f"<{url}>" in raw.replace("\r\n ", " ")
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in raw
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["To"] == JONAS
    assert message["List-Unsubscribe"].strip() == f"<{url}>"
    assert url.startswith("https://book.example.com/unsubscribe/")
    assert JONAS not in url
    for kind in ("text/plain", "text/html"):
        assert url in part(message, kind)
        assert POSTAL in part(message, kind)
    assert entry["opt_out_checked"] is True


async def test_the_header_stays_one_address_even_if_it_is_long(settings: Settings, clock: MovingClock) -> None:
    long = replace(settings, base_url=f"https://{'bookings.' * 9}example.com")
    async with smtp_server() as server, open_runtime(over(long, server), clock=clock) as runtime:
        await send(runtime, growth(), "marketing")
        await work_off(runtime, clock)
        raw = server.received[0].content.decode()

    header = re.search(r"^List-Unsubscribe:((?:.|\r\n )*)\r\n", raw, re.MULTILINE)
    assert header is not None
    assert re.fullmatch(r"\s*<https://\S+>", header[1]), header[1]


async def test_marketing_without_a_postal_address_is_refused(settings: Settings, clock: MovingClock) -> None:
    async with open_runtime(replace(settings, postal_address=None), clock=clock) as runtime:
        assert await refusal(runtime, growth(), "marketing") == "postal_address"


# Unsubscribing


@pytest.fixture
async def link(runtime: Runtime, clock: MovingClock) -> str:
    """The path of the link in a marketing mail that was sent."""
    await send(runtime, growth(), "marketing")
    await work_off(runtime, clock)
    (message,) = await messages(runtime, JONAS)
    return str(message["List-Unsubscribe"]).strip("<>").removeprefix("https://book.example.com")


@pytest.fixture
async def browser_of_mail(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    async with serving(create_app(settings)) as base_url, connect(base_url) as opened:
        yield opened


ONE_CLICK: dict[str, Any] = {
    "content": b"List-Unsubscribe=One-Click",
    "headers": {"Content-Type": "application/x-www-form-urlencoded"},
}
MULTIPART: dict[str, Any] = {
    "content": b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
    "headers": {"Content-Type": "multipart/form-data; boundary=x"},
}
FROM_ELSEWHERE: dict[str, Any] = {
    **ONE_CLICK,
    "headers": {**ONE_CLICK["headers"], "Origin": "https://mail.example", "Sec-Fetch-Site": "cross-site"},
}


@pytest.mark.parametrize("form", [ONE_CLICK, MULTIPART, FROM_ELSEWHERE, {}])
async def test_one_post_unsubscribes_without_cookie_and_without_redirect(
    runtime: Runtime, link: str, browser_of_mail: httpx2.AsyncClient, form: dict[str, Any]
) -> None:
    answer = await browser_of_mail.post(link, **form)

    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert "You are unsubscribed" in answer.text
    assert await refusal(runtime, growth(), "marketing", to=JONAS.upper()) == "opted_out"


async def test_looking_at_the_page_changes_nothing(
    runtime: Runtime, link: str, browser_of_mail: httpx2.AsyncClient
) -> None:
    for method in ("GET", "HEAD"):
        answer = await browser_of_mail.request(method, link)
        assert answer.status_code == 200
    shown = (await browser_of_mail.get(link)).text

    assert "Unsubscribe from marketing emails?" in shown
    assert f'action="{link}"' in shown
    assert JONAS not in shown
    await send(runtime, growth(), "marketing")


async def test_unsubscribing_twice_is_one_fact_and_other_mail_still_goes_out(
    runtime: Runtime, link: str, browser_of_mail: httpx2.AsyncClient
) -> None:
    for _ in range(2):
        assert (await browser_of_mail.post(link)).status_code == 200

    assert await runtime.pool.fetchval("select count(*) from events where type = 'marketing.opted_out'") == 1
    assert "You are unsubscribed" in (await browser_of_mail.get(link)).text
    await send(runtime, call_of("support"), "support")


async def test_the_page_is_in_the_readers_language(link: str, browser_of_mail: httpx2.AsyncClient) -> None:
    answer = await browser_of_mail.get(link, headers={"Accept-Language": "de"})

    assert '<html lang="de"' in answer.text
    assert "abbestellen" in answer.text.lower()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t[:-1],
        lambda t: t[:30] + ("A" if t[30] != "A" else "B") + t[31:],
        lambda t: "A" + t[1:],
        lambda t: t + "=",
        lambda t: "x",
        lambda t: t[:-1] + "_",
    ],
)
async def test_a_link_that_is_not_ours_is_not_found(
    runtime: Runtime, link: str, browser_of_mail: httpx2.AsyncClient, spoil: Any
) -> None:
    path, _, token = link.rpartition("/")
    bad = spoil(token)
    if bad == token:
        bad = f"{token[:-1]}-"

    assert (await browser_of_mail.get(f"{path}/{bad}")).status_code == 404
    assert (await browser_of_mail.post(f"{path}/{bad}")).status_code == 404
    with pytest.raises(NotFound):
        await emails.unsubscribe_recipient(runtime.work(SYSTEM), bad)
    await send(runtime, growth(), "marketing")


async def test_a_mail_on_its_way_is_not_sent_to_someone_who_unsubscribes_meanwhile(
    runtime: Runtime, link: str, clock: MovingClock
) -> None:
    await send(runtime, growth(), "marketing")
    async with runtime.transaction(SYSTEM) as work:
        await emails.unsubscribe_recipient(work, link.rpartition("/")[2])
    await work_off(runtime, clock)

    assert len(await messages(runtime, JONAS)) == 1
    assert [(each["status"], each["error"]) for each in await log(runtime)] == [
        ("failed", "not sent: the recipient has unsubscribed"),
        ("mailbox", None),
    ]


async def test_of_unsubscribing_and_sending_at_once_the_mail_is_refused_or_stopped(
    settings: Settings, runtime: Runtime, clock: MovingClock
) -> None:
    arguments = read_arguments(send_email, {"category": "marketing", **LETTER, "confirm": True})
    await send(runtime, growth(), "marketing")
    (entry,) = await log(runtime)
    token = emails.unsubscribe_token(runtime, entry["marketing_recipient_id"])

    async def leave() -> None:
        async with runtime.transaction(SYSTEM) as work:
            await emails.unsubscribe_recipient(work, token)

    async with open_runtime(settings, clock=clock) as other:
        await asyncio.gather(leave(), send_now(other, growth(), arguments), return_exceptions=True)
        await work_off(runtime, clock)

    # Both were queued before anything was sent, so nobody who has unsubscribed gets either.
    assert await messages(runtime, JONAS) == []
