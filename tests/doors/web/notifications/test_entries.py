"""One reminder or follow-up: its form, its faults, its preview in each language, and a test to oneself."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.reminders import operations as reminders
from openslot.domains.reminders.models import Audience, Entries, ReminderChannel, ReminderEntry
from openslot.domains.reminders.rules import DEFAULT_REMINDERS
from openslot.doors.web.dashboard.reminders import TESTS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES, Language
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.forms import FOREIGN
from tests.support.messaging import insert_number
from tests.support.page import read_page

LIST = "/settings/notifications"
HERE = "/settings/reminders/all"
DAY = f"{HERE}/before-1440-email"
FIELDS = {"amount": "1", "unit": "days", "moment": "before", "channel": "email", "to": "invitee", "language": "en"}


async def stored(runtime: Runtime, user: User) -> Entries:
    return await reminders.get_reminders(runtime.work(OPERATOR), user.id)


async def test_an_entry_is_changed_added_and_deleted(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    shown = read_page(await member.get(DAY))
    assert (shown.fields["amount"].value, shown.fields["unit"].value, shown.fields["to"].value) == (
        "1",
        "days",
        "invitee",
    )
    words = {"subject": "Soon: {event_name}", "text": "Hello\r\n{invitee_name}", "to": "both", "amount": "2"}
    saved = await member.post(DAY, data=FIELDS | words)
    assert saved.headers["location"] == f"{LIST}?done=reminders"
    mine = ReminderEntry(minutes=2880, to=Audience.BOTH, subject="Soon: {event_name}", text="Hello\n{invitee_name}")
    assert await stored(runtime, user) == (mine, DEFAULT_REMINDERS[1])
    assert (await member.get(DAY)).status_code == 404
    await member.post(f"{HERE}/new", data=FIELDS | {"amount": "30", "unit": "minutes"})
    assert [each.minutes for each in await stored(runtime, user)] == [2880, 60, 30]
    listed = read_page(await member.get(saved.headers["location"]))
    assert "Saved." in listed.notices[0]
    assert "30 minutes before" in listed.text
    for each in await stored(runtime, user):
        assert (await member.post(f"{HERE}/{each.name}/delete")).status_code == 303
    assert await stored(runtime, user) == ()
    assert (await member.post(f"{HERE}/before-60-email/delete")).status_code == 404
    row = await runtime.pool.fetchrow("select minutes_before, entries::text from reminder_settings")
    assert row is not None
    assert tuple(row.values()) == ([], "[]")


WRONG: list[tuple[dict[str, str], str]] = [
    ({"amount": ""}, "amount"),
    ({"amount": "0"}, "amount"),
    ({"amount": "x"}, "amount"),
    ({"amount": "29"}, "amount"),
    ({"amount": "1", "unit": "minutes"}, "amount"),
    ({"amount": "60", "unit": "minutes"}, "amount"),
    ({"unit": "weeks"}, "unit"),
    ({"moment": "during"}, "moment"),
    ({"channel": "fax"}, "channel"),
    ({"channel": "sms", "to": "both"}, "to"),
    ({"to": "everyone"}, "to"),
    ({"subject": "x\nBcc: victim@else.example"}, "subject"),
    ({"subject": "\u202eexe"}, "subject"),
    ({"subject": "{nobody}"}, "subject"),
    ({"text": "Hello {invitee.name} <xss-probe>"}, "text"),
    ({"text": "x" * 5001}, "text"),
    ({"text": "x" * 30_000}, "text"),
]


@pytest.mark.parametrize("verb", ["", "/preview", "/test"])
async def test_what_is_wrong_is_named_at_its_field_and_nothing_happens(
    member: httpx2.AsyncClient, runtime: Runtime, verb: str, clock: MovingClock
) -> None:
    for changes, field in WRONG:
        if verb and changes == {"amount": "60", "unit": "minutes"}:
            # There is one already, which is no fault of a preview.
            continue
        answer = await member.post(f"{DAY}{verb}", data=FIELDS | changes)
        if answer.status_code == 429:
            break
        assert answer.status_code == 400, changes
        assert list(read_page(answer).faults) == [field], changes
        assert "<xss-probe" not in answer.text
    assert await runtime.pool.fetchval("select count(*) from reminder_settings") == 0
    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'mail.test_reminder'") == 0


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.tag)
async def test_a_preview_is_shown_in_each_language_and_saves_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, language: Language
) -> None:
    words = {"subject": "{event_name} <xss-probe>", "text": "Hello {invitee_name}: {manage_link}", "to": "both"}
    answer = await member.post(f"{DAY}/preview", data=FIELDS | words | {"language": language.tag})

    assert answer.status_code == 200
    assert answer.text.count(f'<div lang="{language.tag}" dir="{language.direction}">') == 2
    assert "Hello <bdi>Alex Morgan</bdi>" in answer.text
    assert "<xss-probe" not in answer.text
    shown = read_page(answer)
    assert shown.fields["text"].value == "Hello {invitee_name}: {manage_link}"
    assert ("You received this email" in shown.text) is (language.tag == "en")
    ours = await member.post(f"{HERE}/new-after/preview", data=FIELDS | {"moment": "after", "language": language.tag})
    assert ("Thank you for the meeting" in read_page(ours).text) is (language.tag == "en")
    assert await stored(runtime, user) == DEFAULT_REMINDERS
    assert await runtime.pool.fetchval("select count(*) from effects") == 0


async def test_a_test_goes_to_the_host_and_the_page_keeps_what_was_typed(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    answer = await member.post(f"{DAY}/test", data=FIELDS | {"text": "Bring a pen", "language": "de"})

    # The test has no mail server.
    assert read_page(answer).notices == [
        "The test email is in the mailbox: no mail server is set up, and nobody gets it."
    ]
    assert read_page(answer).fields["text"].value == "Bring a pen"
    await work_off(runtime, clock)
    rows = await runtime.pool.fetch("select recipient, subject, booking_id, is_public, status from mail_messages")
    assert [(row["recipient"], row["booking_id"], row["is_public"], row["status"]) for row in rows] == [
        (user.email, None, False, "sent")
    ]
    assert rows[0]["subject"].startswith("Test: Erinnerung: ")
    for _ in range(TESTS.max_ - 1):
        assert (await member.post(f"{DAY}/test", data=FIELDS)).status_code == 200
    assert (await member.post(f"{DAY}/test", data=FIELDS)).status_code == 429


async def test_messages_are_a_channel_once_a_number_is_connected(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    assert read_page(await member.get(DAY)).fields["channel"].value == "email"
    assert "SMS" not in (await member.get(DAY)).text
    await insert_number(runtime, user_id=user.id)
    shown = await member.get(DAY)
    assert '<option value="sms">SMS</option>' in shown.text
    assert "WhatsApp</option>" not in shown.text
    sms = FIELDS | {"channel": "sms", "subject": "No subject", "text": "See you {start}, {invitee_name}"}
    preview = await member.post(f"{HERE}/new/preview", data=sms)
    assert "Alex Morgan" in read_page(preview).text
    assert "Reply STOP to get no messages." in read_page(preview).text
    refused = await member.post(f"{HERE}/new/test", data=sms)
    assert "own email address" in read_page(refused).faults["channel"]
    assert (await member.post(f"{HERE}/new", data=sms)).status_code == 303
    kept = (await stored(runtime, user))[1]
    assert (kept.channel, kept.subject, kept.text) == (ReminderChannel.SMS, "", "See you {start}, {invitee_name}")
    assert "The invitee, if they agree" in read_page(await member.get(LIST)).text


async def test_forms_of_other_sites_and_strange_addresses_change_nothing(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    for verb in ("", "/preview", "/test", "/delete"):
        for headers in FOREIGN[: TESTS.max_]:
            assert (await member.post(f"{DAY}{verb}", data=FIELDS, headers=headers)).status_code == 403
    for path in (f"{HERE}/before-61-email", f"{HERE}/x", "/settings/reminders/x/new", f"{HERE}/..%2f..%2fx"):
        assert (await member.get(path)).status_code == 404, path
        assert (await member.post(path, data=FIELDS)).status_code == 404, path
    assert await runtime.pool.fetchval("select count(*) from reminder_settings") == 0
