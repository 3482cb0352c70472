"""mail … and brand …: the embedded mailbox, reminders and brands from the terminal."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.doctor.finding import FindingState
from openslot.domains.doctor.machine import look_at_mail
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid, NotFound
from openslot.platform.core.smtp import SmtpUrl
from openslot.platform.core.work import Runtime
from openslot.vendors.smtp import SmtpServers
from tests.domains.mail.conftest import Book, mails, messages, part, read_message, work_off
from tests.support.clocks import MovingClock
from tests.support.command_line import Cli, Run
from tests.support.smtp_server import smtp_server

pytestmark = pytest.mark.rest("runs commands, each with a connection of its own; their verbs are in make test")


@pytest.fixture
def cli(command_line: Run) -> Cli:
    """Run a command beside the test's event loop, and return what is not JSON as bytes, as emails are."""

    def run(*arguments: str) -> Any:
        result = command_line(*arguments)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout_bytes

    return partial(asyncio.to_thread, run)


MARA, JONAS = "mara@lindqvist.example", "jonas@okafor.example"


async def test_the_mailbox_is_read_from_the_terminal(
    runtime: Runtime, clock: MovingClock, book: Book, cli: Cli
) -> None:
    booking = await book()
    other = await book(booking.ends_at)
    await work_off(runtime, clock)
    (listed,) = (await cli("mail", "list", "--to", JONAS.upper(), "--booking", str(booking.id), "--json"))["mail"]
    assert (listed["to"], listed["kind"], listed["status"]) == (JONAS, "confirmation", "stored")
    assert (listed["transport"], listed["sentAt"]) == ("mailbox", None)
    assert listed["createdAt"] == "2026-03-16T07:00:00Z"
    assert len((await cli("mail", "list", "--booking", str(other.id), "--json"))["mail"]) == 2
    assert listed["id"].encode() in await cli("mail", "list")
    raw = await cli("mail", "show", listed["id"], "--raw")
    assert read_message(raw)["To"].addresses[0].addr_spec == JONAS
    opened = await cli("mail", "show", listed["id"], "--json")
    assert "METHOD:REQUEST" in opened["calendar"]
    assert "<h1" in opened["html"]
    assert b"Your meeting is confirmed" in await cli("mail", "show", listed["id"])


async def test_a_mail_that_is_not_there(cli: Cli) -> None:
    with pytest.raises(NotFound):
        await cli("mail", "show", "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ea1")
    assert b"No emails yet" in await cli("mail", "list")


async def test_what_went_to_a_server_has_no_message_to_show(
    runtime: Runtime, clock: MovingClock, book: Book, cli: Cli
) -> None:
    await book()
    await work_off(runtime, clock)
    await runtime.pool.execute("update mail_messages set content = null, transport = 'smtp'")
    listed = (await mails(runtime))[0]
    shown = (await cli("mail", "list", "--json"))["mail"]
    assert {(each["status"], each["sentAt"]) for each in shown} == {("sent", "2026-03-16T07:00:00Z")}
    assert b"is kept" in await cli("mail", "show", str(listed.id))
    with pytest.raises(Invalid, match="log"):
        await cli("mail", "show", str(listed.id), "--raw")


async def test_the_mailbox_is_sealed(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    await book()
    await work_off(runtime, clock)
    for row in await runtime.pool.fetch("select * from mail_messages"):
        assert b"manage" not in row["content"]
        assert b"Subject" not in row["content"]


async def test_reminders_are_chosen_by_host_and_by_event_type(cli: Cli, user: User) -> None:
    async def choose(*more: str) -> list[int]:
        return list((await cli("mail", "reminders", "--user", MARA, *more, "--json"))["minutes"])

    assert await choose() == [1440, 60]
    assert await choose("--minutes", "60,2880,60") == [2880, 60]
    assert await choose("--event-type", "30min") == [2880, 60]
    assert await choose("--event-type", "30min", "--none") == []
    assert await choose() == [2880, 60]
    assert await choose("--reset") == [1440, 60]
    assert await choose("--event-type", "30min") == []
    assert await choose("--event-type", "30min", "--reset") == [1440, 60]


@pytest.mark.parametrize("minutes", ["4", "40321", "x", "1.5", "-60", "5,6,7,8,9,10", "99999999999"])
async def test_reminders_that_make_no_sense(cli: Cli, user: User, minutes: str) -> None:
    with pytest.raises(Invalid) as refused:
        await cli("mail", "reminders", "--user", MARA, f"--minutes={minutes}")
    assert "minutes" in (refused.value.details or {})


async def test_a_brand_stands_on_mail(runtime: Runtime, clock: MovingClock, book: Book, cli: Cli, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Lindqvist AB", slug="lindqvist")
        await add_organization_member(work, organization, user)
    set_ = ("brand", "set", "--organization", "lindqvist")
    shown = await cli(*set_, "--color", "#AA1122", "--logo", "https://x.example/logo.png", "--json")
    assert shown == {"name": None, "color": "#aa1122", "logoUrl": "https://x.example/logo.png"}
    await book()
    await work_off(runtime, clock)
    html = part((await messages(runtime, JONAS))[0], "text/html")
    assert "https://x.example/logo.png" in html
    assert "#aa1122" in html
    assert 'alt="Lindqvist AB"' in html
    await cli("brand", "set", "--user", MARA, "--name", "Mara's studio", "--json")
    await book(clock.now.replace(hour=14))
    await work_off(runtime, clock)
    message = (await messages(runtime, JONAS))[1]
    assert message["From"].addresses[0].display_name == "Mara's studio"
    assert "Mara&#39;s studio" in part(message, "text/html")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("color", "red"),
        ("color", "#12345"),
        ("color", "#123456;background:url(x)"),
        ("logo", "http://x.example/logo.png"),
        ("logo", "javascript:alert(1)"),
        ("name", "two\nlines"),
        ("name", "x" * 101),
    ],
)
async def test_a_brand_that_makes_no_sense(cli: Cli, user: User, option: str, value: str) -> None:
    with pytest.raises(Invalid) as refused:
        await cli("brand", "set", "--user", MARA, f"--{option}", value)
    assert option in (refused.value.details or {})


async def test_the_doctor_connects_to_the_mail_server(settings: Settings) -> None:
    from msgspec.structs import replace

    async with smtp_server() as server:
        good = replace(settings, smtp_url=SmtpUrl.parse(f"smtp://127.0.0.1:{server.port}"))
        assert (await asyncio.to_thread(look_at_mail, good, SmtpServers())).state is FindingState.OK
        locked = replace(settings, smtp_url=SmtpUrl.parse(f"smtp://a:secret@127.0.0.1:{server.port}"))
        found = await asyncio.to_thread(look_at_mail, locked, SmtpServers())
    assert found.state is FindingState.PROBLEM
    assert "secret" not in found.meaning
    assert (await asyncio.to_thread(look_at_mail, good, SmtpServers())).state is FindingState.PROBLEM
    assert (await asyncio.to_thread(look_at_mail, settings, SmtpServers())).state is FindingState.WARNING
    unsent = await asyncio.to_thread(look_at_mail, replace(settings, sign_up="open"), SmtpServers())
    assert (unsent.state, "nobody gets the link" in unsent.meaning) == (FindingState.PROBLEM, True)
