"""What may be chosen, which words are refused at which field, and how placeholders are filled in."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.reminders.models import Audience, ReminderChannel, ReminderEntry, ReminderMoment
from openslot.domains.reminders.placeholders import Placeholder, fill, fill_html, is_personal
from openslot.domains.reminders.rules import (
    DEFAULT_REMINDERS,
    UNWANTED_ENTRY,
    check_entries,
    check_entry,
    find_entry,
    find_lost_meaning,
    list_email_times,
    with_email_times,
    with_times,
)
from openslot.platform.core.errors import Invalid
from tests.support.clocks import MONDAY

BEFORE, AFTER = ReminderMoment.BEFORE, ReminderMoment.AFTER
EMAIL, SMS = ReminderChannel.EMAIL, ReminderChannel.SMS
ENTRY = ReminderEntry(minutes=60)
VALUES = {
    "invitee_name": Placeholder("<b>Eve</b> {manage_link} & \u2060co"),
    "host_name": Placeholder("Mara"),
    "manage_link": Placeholder("https://here.example/manage/x?a=1&b=2", is_link=True),
}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"minutes": 4}, "minutes"),
        ({"minutes": 28 * 24 * 60 + 1}, "minutes"),
        ({"moment": AFTER, "minutes": 14 * 24 * 60 + 1}, "minutes"),
        ({"subject": "x\nBcc: victim@else.example"}, "subject"),
        ({"subject": "x\r\nBcc: victim@else.example"}, "subject"),
        ({"subject": "x\u2028y"}, "subject"),
        ({"subject": "x" * 201}, "subject"),
        ({"subject": "\u202eexe.gpj"}, "subject"),
        ({"subject": "\u200b"}, "subject"),
        ({"subject": "Hello {name}"}, "subject"),
        ({"text": "x" * 5001}, "text"),
        ({"text": "x\x00"}, "text"),
        ({"text": "x\ud800"}, "text"),
        ({"text": "a \u2066 b"}, "text"),
        ({"text": "{invitee_name.__class__}"}, "text"),
        ({"text": "{0}"}, "text"),
        ({"text": "{}"}, "text"),
        ({"text": "{ invitee_name }"}, "text"),
        ({"text": "{Invitee_name}"}, "text"),
        ({"text": "{{answers}}"}, "text"),
        ({"channel": SMS, "to": Audience.HOST}, "to"),
        ({"channel": SMS, "subject": "Hello"}, "subject"),
        ({"channel": SMS, "text": "x" * 481}, "text"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_its_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_entry(replace(ENTRY, **changes))
    assert list(refused.value.faults) == [field]


def test_everything_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        check_entry(ReminderEntry(minutes=1, subject="{x}", text="{y}"))
    assert set(refused.value.faults) == {"minutes", "subject", "text"}
    assert "{y}" in refused.value.faults["text"]
    assert "{invitee_name}" in refused.value.faults["text"]


def test_marks_and_braces_of_ordinary_texts_are_allowed() -> None:
    text = "مرحبا \u200f{invitee_name}\u200e! 🎉\nA brace { alone } is none of ours"
    with pytest.raises(Invalid):
        check_entry(replace(ENTRY, text=text))
    allowed = text.replace("}", ")").replace("name)", "name}")
    assert check_entry(replace(ENTRY, text=allowed)).text == allowed
    assert check_entry(replace(ENTRY, subject=" Hi ")).subject == "Hi"


def test_two_at_the_same_time_by_the_same_channel_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        check_entries([ENTRY, replace(ENTRY, text="Another")])
    assert list(refused.value.faults) == ["minutes"]
    assert check_entries([ENTRY, replace(ENTRY, channel=SMS), replace(ENTRY, moment=AFTER)])


def test_at_most_five_of_a_kind_and_in_the_order_in_which_they_are_due() -> None:
    five = [replace(ENTRY, minutes=each) for each in (5, 30, 60, 120, 1440)]
    after = replace(ENTRY, moment=AFTER, minutes=5)
    assert [each.minutes for each in check_entries([after, *five])] == [1440, 120, 60, 30, 5, 5]
    assert check_entries([after, *five])[-1] == after
    with pytest.raises(Invalid):
        check_entries([*five, replace(ENTRY, minutes=240)])


def test_words_stay_with_the_times_that_stay() -> None:
    mine = (replace(ENTRY, text="Mine"), replace(ENTRY, minutes=120), replace(ENTRY, moment=AFTER, text="Thanks"))
    chosen = with_times(mine, [60, 1440], [EMAIL, SMS])
    assert [(each.minutes, each.channel, each.text) for each in chosen] == [
        (1440, EMAIL, ""),
        (1440, SMS, ""),
        (60, EMAIL, "Mine"),
        (60, SMS, ""),
        (60, EMAIL, "Thanks"),
    ]


def test_times_that_the_last_release_has_written_hold_and_all_else_stays() -> None:
    mine = (
        replace(ENTRY, text="Mine", to=Audience.BOTH),
        replace(ENTRY, minutes=30, channel=SMS),
        replace(ENTRY, moment=AFTER),
    )
    read = with_email_times(mine, [60, 15])
    assert list_email_times(read) == [60, 15]
    assert set(mine) <= set(read)
    assert len(read) == 4
    assert with_email_times((), [1440, 60]) == DEFAULT_REMINDERS


@pytest.mark.parametrize(
    ("late", "lost"),
    [
        (timedelta(), None),
        (timedelta(hours=23, minutes=59), None),
        (timedelta(hours=24), "it would have arrived too late"),
    ],
)
def test_a_follow_up_is_of_use_for_a_day(late: timedelta, lost: str | None) -> None:
    entry = replace(ENTRY, moment=AFTER)
    starts_at, ends_at = MONDAY, MONDAY + timedelta(minutes=30)
    now = ends_at + timedelta(minutes=60) + late
    assert find_lost_meaning(entry, (entry,), starts_at, ends_at, now=now) == lost
    gone = find_entry((entry,), AFTER, 61, "email")
    assert find_lost_meaning(gone, (entry,), starts_at, ends_at, now=now) == UNWANTED_ENTRY


def test_values_are_filled_in_once_and_are_no_markup() -> None:
    text = "Hi {invitee_name},\n\n<i>see</i> https://host.example/a?b=1. {manage_link}\n{host_name}"
    assert fill(text, VALUES) == (
        "Hi <b>Eve</b> {manage_link} & \u2060co,\n\n<i>see</i> https://host.example/a?b=1. "
        "https://here.example/manage/x?a=1&b=2\nMara"
    )
    html = fill_html(text, VALUES)
    assert html == (
        "<p>Hi <bdi>&lt;b&gt;Eve&lt;/b&gt; {manage_link} &amp; \u2060co</bdi>,</p>"
        '<p>&lt;i&gt;see&lt;/i&gt; <a href="https://host.example/a?b=1">https://host.example/a?b=1</a>. '
        '<a href="https://here.example/manage/x?a=1&amp;b=2">https://here.example/manage/x?a=1&amp;b=2</a>'
        "<br><bdi>Mara</bdi></p>"
    )


@pytest.mark.parametrize("text", ['https://x.example/"onclick=alert(1)', "javascript:alert(1)", "https://<script>"])
def test_no_text_of_a_host_leaves_its_link(text: str) -> None:
    html = fill_html(text, {})
    assert "<script" not in html
    assert '"onclick' not in html
    assert 'href="javascript' not in html


def test_only_the_invitee_and_the_host_get_what_is_personal() -> None:
    assert is_personal("Hi {invitee_name}")
    assert is_personal("{cancel_link}")
    assert not is_personal("{host_name}, {start}, {location}")
