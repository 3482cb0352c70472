"""What people are written about one event type: as for all meetings, or its own, which begins as a copy."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.domains.reminders import operations as reminders
from openslot.domains.reminders.models import Entries, ReminderEntry, ReminderMoment
from openslot.domains.reminders.rules import DEFAULT_REMINDERS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.page import read_page

WORDS = {"amount": "2", "unit": "hours", "moment": "after", "to": "invitee", "text": "Thanks, {invitee_name}"}


@pytest.fixture
def path(intro: EventType) -> str:
    return f"/event-types/{intro.id}/reminders"


async def chosen(runtime: Runtime, intro: EventType) -> Entries | None:
    return (await reminders.find_own_reminders(runtime.work(OPERATOR), intro.owner_id, intro.id))[0]


async def test_an_event_type_has_its_own_until_it_returns_to_the_usual(
    member: httpx2.AsyncClient, runtime: Runtime, intro: EventType, path: str
) -> None:
    shown = await member.get(path)
    assert "Default reminders and follow-ups" in read_page(shown).text
    assert "/settings/reminders/" not in shown.text
    saved = await member.post(path, data={"which": "own"})
    assert saved.headers["location"] == f"{path}?done=reminders"
    assert await chosen(runtime, intro) == DEFAULT_REMINDERS
    shown = await member.get(saved.headers["location"])
    assert f'href="/settings/reminders/{intro.id}/before-1440-email"' in shown.text
    assert "Saved." in read_page(shown).notices[0]

    await member.post(path, data={"which": "usual"})

    assert await chosen(runtime, intro) is None


async def test_a_follow_up_of_one_event_type_leaves_the_others_alone(
    member: httpx2.AsyncClient, runtime: Runtime, intro: EventType, path: str
) -> None:
    saved = await member.post(f"/settings/reminders/{intro.id}/new-after", data=WORDS)

    assert saved.headers["location"] == f"{path}?done=reminders"
    thanks = ReminderEntry(moment=ReminderMoment.AFTER, minutes=120, text="Thanks, {invitee_name}")
    assert await chosen(runtime, intro) == (*DEFAULT_REMINDERS, thanks)
    assert await reminders.get_reminders(runtime.work(OPERATOR), intro.owner_id) == DEFAULT_REMINDERS
    shown = read_page(await member.get(path)).text
    assert "2 hours after" in shown
    assert "in your own words" in shown
    for name in ("before-1440-email", "before-60-email", "after-120-email"):
        await member.post(f"/settings/reminders/{intro.id}/{name}/delete")
    assert await chosen(runtime, intro) == ()
    assert "No reminders and no follow-ups." in read_page(await member.get(path)).text


async def test_nobody_reads_or_changes_those_of_another_host(
    member: httpx2.AsyncClient, stranger: User, runtime: Runtime
) -> None:
    other = await runtime.pool.fetchval("select id from event_types where owner_id = $1", stranger.id)
    assert (await member.get(f"/event-types/{other}/reminders")).status_code == 404
    assert (await member.post(f"/event-types/{other}/reminders", data={"which": "own"})).status_code == 404
    entry = f"/settings/reminders/{other}/before-60-email"
    assert (await member.get(entry)).status_code == 404
    for verb in ("", "/preview", "/test", "/delete"):
        assert (await member.post(f"{entry}{verb}", data=WORDS)).status_code == 404, verb
    assert await runtime.pool.fetchval("select count(*) from reminder_settings") == 0
    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'mail.test_reminder'") == 0
