"""Outgoing messages: stopped and resumed with a reason, what waits, what was not sent, and the banner."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.page import read_page
from tests.support.switches import stop

HERE = "/admin/messaging"


async def stopped(runtime: Runtime) -> list[tuple[str, str]]:
    rows = await runtime.pool.fetch("select channel, reason from switches where stopped_at is not null order by 1")
    return [(row["channel"], row["reason"]) for row in rows]


async def test_email_is_stopped_and_resumed_after_a_question(admin: httpx2.AsyncClient, runtime: Runtime) -> None:
    assert "Stop outgoing messages: Email?" in read_page(await admin.get(f"{HERE}/email/stop")).text
    answer = await admin.post(f"{HERE}/email/stop", data={"reason": " A loop "})
    assert answer.headers["location"] == f"{HERE}?done=stopped"
    assert await stopped(runtime) == [("email", "A loop")]

    page = read_page(await admin.get(HERE)).text
    assert "Stopped" in page
    assert "A loop" in page
    assert "by Ada Moreau" in page
    assert "Resume outgoing messages: Email?" in read_page(await admin.get(f"{HERE}/email/resume")).text
    await admin.post(f"{HERE}/email/resume", data={"reason": "Mended"})
    assert await stopped(runtime) == []


async def test_all_stops_everything_but_email(admin: httpx2.AsyncClient, runtime: Runtime) -> None:
    await admin.post(f"{HERE}/all/stop", data={"reason": "A loop"})
    assert [channel for channel, _ in await stopped(runtime)] == ["sms", "voice", "whatsapp"]


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\nb"])
async def test_a_reason_is_needed(admin: httpx2.AsyncClient, runtime: Runtime, reason: str) -> None:
    for act in ("stop", "resume"):
        answer = await admin.post(f"{HERE}/email/{act}", data={"reason": reason})
        assert answer.status_code == 400
        assert read_page(answer).faults.keys() == {"reason"}
    assert await stopped(runtime) == []


async def test_an_unknown_channel_is_not_found(admin: httpx2.AsyncClient) -> None:
    for act in ("stop", "resume"):
        assert (await admin.get(f"{HERE}/fax/{act}")).status_code == 404
        assert (await admin.post(f"{HERE}/fax/{act}", data={"reason": "A loop"})).status_code == 404


async def test_pages_of_the_administration_say_that_something_is_stopped(
    admin: httpx2.AsyncClient, runtime: Runtime
) -> None:
    words = "Some outgoing messages are stopped"
    assert words not in (await admin.get("/admin/users")).text
    await stop(runtime, "voice")
    assert words in (await admin.get("/admin/users")).text
    assert words not in (await admin.get("/bookings")).text
    assert "Outgoing messages are stopped: voice since" in read_page(await admin.get("/admin/system")).text


async def test_what_was_not_sent_is_listed_with_the_reason(
    admin: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    effect = new_id()
    await runtime.pool.execute(
        """insert into effects (id, reaction, key, state, next_try_at, last_error, created_at, finished_at)
        values ($1, 'mail.remind', 'x', 'skipped', now(), 'the meeting has begun', now(), now())""",
        effect,
    )
    await runtime.pool.execute(
        "insert into held_effects (effect_id, channel, round, due_at, held_at) values ($1, 'email', 1, now(), now())",
        effect,
    )
    await runtime.pool.execute(
        """insert into mail_messages (id, kind, recipient, subject, is_public, status, created_at)
        values ($1, 'reminder', 'jonas@okafor.example', 'Reminder: Intro', false, 'failed', now())""",
        effect,
    )
    page = read_page(await admin.get(HERE)).text
    assert "Reminder: Intro jonas@okafor.example" in page
    assert "the meeting has begun" in page
