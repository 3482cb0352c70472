"""An agent sends what its category, level and limits allow, in the product's layout."""

import asyncio
import re
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.mail.rules import DELAYS
from openslot.doors.agents.calls import read_arguments
from openslot.doors.agents.emails.operations import clean
from openslot.doors.agents.errors import EmailLimitReached
from openslot.doors.agents.models import EmailCategory, Level
from openslot.doors.agents.reactions import tidy_agents
from openslot.doors.agents.roster import ROSTER
from openslot.doors.agents.tools.email import send_email
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.smtp import MailFrom
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.mail.conftest import messages, part, read_message
from tests.doors.agents.emailing import ADA, JONAS, LETTER, POSTAL, log, over, refusal, send, send_now
from tests.doors.agents.spending import call_of, clock, two_runtimes
from tests.support.clocks import MovingClock
from tests.support.effects import work_off, work_until_settled
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


CATEGORIES = {
    "support": {"support", "transactional", "internal"},
    "cto": {"transactional", "internal"},
    "devops": {"transactional", "internal"},
    "orchestrator": {"support", "transactional", "internal"},
    "data": {"internal"},
    "seo": {"internal"},
    "growth": {"marketing", "internal"},
    "outbound": {"marketing", "internal"},
    "customer_success": {"marketing", "internal"},
    "content": {"marketing", "internal"},
}
L0_AGENTS = {"seo", "growth", "outbound", "customer_success", "content"}


async def test_each_agent_sends_in_its_own_categories_once_it_is_at_level_one(runtime: Runtime, admin: User) -> None:
    assert set(CATEGORIES) == set(ROSTER)
    for agent, allowed in CATEGORIES.items():
        for category in EmailCategory:
            call = call_of(agent, level=Level.L1)
            to = ADA if category is EmailCategory.INTERNAL else JONAS
            if category in allowed:
                await runtime.pool.execute("delete from agent_emails")
                assert (await send(runtime, call, category, to=to)).status == "queued"
            else:
                assert await refusal(runtime, call, category, to=to) == "category"


async def test_at_level_zero_only_internal_mail_goes_out(runtime: Runtime, admin: User) -> None:
    for agent in L0_AGENTS:
        await send(runtime, call_of(agent), "internal", to=ADA)
        for category in CATEGORIES[agent] - {"internal"}:
            assert await refusal(runtime, call_of(agent), category) == "level"


async def test_internal_mail_goes_to_administrators_of_the_platform_alone(
    runtime: Runtime, user: User, admin: User
) -> None:
    await send(runtime, call_of("cto"), "internal", to=ADA.upper())

    assert await refusal(runtime, call_of("cto"), "internal", to=user.email) == "recipient"
    assert await refusal(runtime, call_of("cto"), "internal", to=JONAS) == "recipient"
    await runtime.pool.execute("update users set disabled_at = now() where id = $1", admin.id)
    assert await refusal(runtime, call_of("cto"), "internal", to=ADA) == "recipient"


@pytest.mark.parametrize("field", ["to", "subject", "replyTo", "text", "html"])
@pytest.mark.parametrize("bad", ["\r\nBcc: x@evil.example", "\n", "\r", "\x00"])
def test_line_breaks_and_nul_are_refused_by_field(field: str, bad: str) -> None:
    line = {"to": JONAS, "replyTo": JONAS, "subject": "Hi"}
    if field not in line and bad != "\x00":
        return
    with pytest.raises(Invalid) as refused:
        read_arguments(
            send_email, {"category": "support", **LETTER, field: line.get(field, "Hi") + bad, "confirm": True}
        )

    assert list(refused.value.details or {}) == [field]


@pytest.mark.parametrize(
    ("field", "value"),
    [("category", "spam"), ("to", "nobody"), ("subject", " "), ("text", ""), ("bcc", JONAS), ("text", "x" * 20_001)],
)
def test_a_wrong_field_is_named(field: str, value: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_arguments(send_email, {"category": "support", **LETTER, field: value, "confirm": True})

    assert list(refused.value.details or {}) == [field]


async def test_a_mail_is_in_the_layout_and_in_both_logs(runtime: Runtime, clock: MovingClock) -> None:
    queued = await send(runtime, call_of("support"), "support", replyTo="help@acme.example")
    (entry,) = await log(runtime)
    assert (entry["status"], entry["message_id"]) == ("queued", queued.message_id)
    await work_off(runtime, clock)

    (message,) = await messages(runtime, JONAS)
    assert message["Message-ID"] == queued.message_id
    assert message["Reply-To"] == "help@acme.example"
    assert message["From"] == "Acme <hello@acme.example>"
    assert message["List-Unsubscribe"] is None
    html, text = part(message, "text/html"), part(message, "text/plain").replace("\r\n", "\n")
    assert "<p>Dear Jonas,</p><p>it works again.<br>Thank you.</p>" in html
    assert 'class="paper inner"' in html
    assert "Dear Jonas,\n\nit works again.\nThank you." in text
    assert "automated assistant of Acme" in text
    assert POSTAL in text
    (entry,) = await log(runtime)
    assert entry == {
        "id": queued.id,
        "at": clock.now,
        "agent": "support",
        "category": "support",
        "recipient": JONAS,
        "subject": "Your question",
        "message_id": queued.message_id,
        "status": "mailbox",
        "error": None,
        "opt_out_checked": False,
        "cost_micros": 1_000,
        "audit_id": entry["audit_id"],
        "marketing_recipient_id": None,
    }
    assert await runtime.pool.fetchval("select content from agent_emails") is None
    assert (
        await runtime.pool.fetchval("select type from events where subject_id = $1", queued.id) == "agent_email.queued"
    )


async def test_a_mail_whose_call_is_rolled_back_is_neither_sent_nor_counted(
    runtime: Runtime, clock: MovingClock
) -> None:
    arguments = read_arguments(send_email, {"category": "support", **LETTER, "confirm": True})
    with pytest.raises(RuntimeError, match="broken"):
        async with runtime.transaction(SYSTEM) as work:
            await send_email.run(work, call_of("support"), arguments)
            raise RuntimeError("broken")
    await work_off(runtime, clock)

    assert await messages(runtime, JONAS) == []
    assert await log(runtime) == []


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "<style>body{display:none}</style>",
        "<img src=https://evil.example/pixel.gif>",
        '<p onclick="x()" style="position:fixed">hi</p>',
        '<a href="javascript:alert(1)">hi</a>',
        '<form action="https://evil.example"><input name=q></form>',
        "</div></td></table><h1>Fake</h1>",
        '<iframe src="https://evil.example"></iframe>',
        "<svg onload=alert(1)>",
        "{{ 7 * 7 }}",
    ],
)
def test_html_is_reduced_to_text_and_links(evil: str) -> None:
    safe = clean(evil)

    assert set(re.findall(r"</?([a-z0-9]+)", safe)) <= {"p", "a", "b", "em"}
    assert not re.search(r"alert|onclick|style|src=|javascript|display:none|evil", safe)


async def test_an_agents_html_is_shown_cleaned_inside_the_layout(runtime: Runtime, clock: MovingClock) -> None:
    html = '<p>See <a href="https://acme.example/x?a=1&b=2">this</a> <b>now</b>{{ 7 * 7 }}</p><script>alert(1)</script>'
    await send(runtime, call_of("support"), "support", html=html)
    await work_off(runtime, clock)

    (message,) = await messages(runtime, JONAS)
    shown = part(message, "text/html")
    assert (
        '<a href="https://acme.example/x?a=1&amp;b=2" rel="noopener noreferrer">this</a> <b>now</b>{{ 7 * 7 }}' in shown
    )
    assert "alert(1)" not in shown
    assert 'class="paper inner"' in shown
    assert "it works again" in part(message, "text/plain")


# Limits


@pytest.mark.parametrize(("agent", "hour"), [("support", 5), ("devops", 5), ("orchestrator", 5), ("cto", 2)])
async def test_fifty_mails_at_once_never_pass_the_hours_limit(
    settings: Settings, clock: MovingClock, agent: str, hour: int
) -> None:
    async with two_runtimes(settings, clock) as runtimes:
        assert await race(runtimes, agent) == hour
        assert len(await log(runtimes[0])) == hour


@pytest.mark.parametrize(("agent", "day", "hour"), [("support", 20, 5), ("cto", 5, 2)])
async def test_fifty_mails_at_once_never_pass_the_days_limit(
    settings: Settings, clock: MovingClock, agent: str, day: int, hour: int
) -> None:
    clock.now = datetime(2026, 3, 16, 1, tzinfo=UTC)
    async with two_runtimes(settings, clock) as runtimes:
        sent = []
        for _ in range(day // hour + 1):
            sent.append(await race(runtimes, agent))
            clock.pass_time(hours=1)

        assert sum(sent) == day
        assert sent == [hour] * (day // hour) + [day % hour]
        assert len(await log(runtimes[0])) == day


async def race(runtimes: tuple[Runtime, Runtime], agent: str) -> int:
    arguments = read_arguments(send_email, {"category": "transactional", **LETTER, "confirm": True})
    outcomes = await asyncio.gather(
        *(send_now(runtimes[number % 2], call_of(agent), arguments) for number in range(50)), return_exceptions=True
    )
    assert all(not isinstance(each, BaseException) or isinstance(each, EmailLimitReached) for each in outcomes)
    return sum(not isinstance(each, BaseException) for each in outcomes)


async def test_the_hour_is_any_sixty_minutes_and_the_refusal_says_how_long_to_wait(
    runtime: Runtime, clock: MovingClock
) -> None:
    call = call_of("cto")
    clock.now = datetime(2026, 3, 16, 10, 50, tzinfo=UTC)
    await send(runtime, call, "transactional")
    clock.now = datetime(2026, 3, 16, 11, 10, tzinfo=UTC)
    await send(runtime, call, "transactional")
    clock.now = datetime(2026, 3, 16, 11, 49, 59, 500_000, tzinfo=UTC)
    with pytest.raises(EmailLimitReached) as refused:
        await send(runtime, call, "transactional")
    assert refused.value.data == {"reason": "rate_limited", "limit": "hour", "max": 2, "retryAfterSeconds": 1}

    clock.pass_time(seconds=1)
    await send(runtime, call, "transactional")


async def test_the_day_begins_at_midnight_utc_and_the_hour_goes_on(runtime: Runtime, clock: MovingClock) -> None:
    call = call_of("cto")
    for hour in (20, 21, 22, 23):
        clock.now = datetime(2026, 3, 16, hour, 30, tzinfo=UTC)
        await send(runtime, call, "transactional")
    clock.now = datetime(2026, 3, 16, 23, 59, 0, tzinfo=UTC)
    await send(runtime, call, "transactional")
    with pytest.raises(EmailLimitReached) as refused:
        await send(runtime, call, "transactional")
    assert refused.value.data == {"reason": "rate_limited", "limit": "day", "max": 5, "retryAfterSeconds": 60}

    clock.now = datetime(2026, 3, 17, tzinfo=UTC)
    with pytest.raises(EmailLimitReached) as hourly:
        await send(runtime, call, "transactional")
    assert hourly.value.data["limit"] == "hour"
    assert hourly.value.data["retryAfterSeconds"] == 30 * 60
    clock.now = datetime(2026, 3, 17, 0, 30, tzinfo=UTC)
    await send(runtime, call, "transactional")


async def test_the_send_limits_follow_the_email_level_and_not_the_autonomy_level(runtime: Runtime, admin: User) -> None:
    for _ in range(5):
        await send(runtime, call_of("outbound"), "internal", to=ADA)
    with pytest.raises(EmailLimitReached):
        await send(runtime, call_of("outbound"), "internal", to=ADA)


# Tries


async def test_a_retried_mail_keeps_its_message_id(settings: Settings, clock: MovingClock) -> None:
    async with smtp_server() as server, open_runtime(over(settings, server), clock=clock) as runtime:
        server.at_data.append("451 later")
        queued = await send(runtime, call_of("support"), "support")
        await work_off(runtime, clock)
        assert [each["status"] for each in await log(runtime)] == ["queued"]
        await work_until_settled(runtime, clock)

        (received,) = server.received
        assert read_message(received.content)["Message-ID"] == queued.message_id
        assert [each["status"] for each in await log(runtime)] == ["sent"]


async def test_a_mail_that_the_server_refuses_is_in_the_log_as_failed(settings: Settings, clock: MovingClock) -> None:
    async with smtp_server() as server, open_runtime(over(settings, server), clock=clock) as runtime:
        server.at_rcpt.append("550 no such user")
        await send(runtime, call_of("support"), "support")
        await work_off(runtime, clock)

        (entry,) = await log(runtime)
        assert entry["status"] == "failed"
        assert "550" in entry["error"]


async def test_a_mail_that_fails_to_the_last_try_is_in_the_log_as_failed(
    settings: Settings, clock: MovingClock
) -> None:
    async with smtp_server() as server, open_runtime(over(settings, server), clock=clock) as runtime:
        server.at_data.extend(["451 later"] * (len(DELAYS) + 1))
        await send(runtime, call_of("support"), "support")
        await work_until_settled(runtime, clock)

        assert [each["status"] for each in await log(runtime)] == ["failed"]
        assert server.received == []


async def test_a_mail_whose_last_try_ended_without_a_word_is_closed_by_the_job(
    runtime: Runtime, clock: MovingClock
) -> None:
    await send(runtime, call_of("support"), "support")
    await runtime.pool.execute(
        """update effects set state = 'dead', finished_at = now(), last_error = 'the worker died'
        where reaction = 'agents.send_email'"""
    )
    await tidy_agents(runtime.work(SYSTEM))

    assert [(each["status"], each["error"]) for each in await log(runtime)] == [("failed", "the worker died")]


async def test_the_log_is_kept_as_long_as_mail(runtime: Runtime, clock: MovingClock) -> None:
    await send(runtime, call_of("support"), "support")
    clock.pass_time(days=90)
    await tidy_agents(runtime.work(SYSTEM))
    assert len(await log(runtime)) == 1
    clock.pass_time(seconds=1)
    await tidy_agents(runtime.work(SYSTEM))
    assert await log(runtime) == []
