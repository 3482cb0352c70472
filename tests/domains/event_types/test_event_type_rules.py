"""Rules of event types: the bounds of every field, and the shapes on the wire."""

from datetime import date

import msgspec
import pytest
from msgspec.structs import replace

from openslot.domains.event_types.models import (
    BookingWindow,
    BusinessDaysWindow,
    Limits,
    Location,
    LocationKind,
    Money,
    Question,
    QuestionKind,
    RangeWindow,
    RollingWindow,
    ShowIf,
)
from openslot.domains.event_types.rules import find_event_type_faults, list_asked
from tests.domains.event_types.support import TALK

CHOICE = Question("size", "Which size?", QuestionKind.CHOICE, options=("S", "M"))


def test_sound_event_type_has_no_faults() -> None:
    assert find_event_type_faults(TALK) == {}


@pytest.mark.parametrize(
    ("field", "name", "least", "max_"),
    [
        ("duration_minutes", "durationMinutes", 1, 1440),
        ("buffer_before", "bufferBefore", 0, 480),
        ("buffer_after", "bufferAfter", 0, 480),
        ("min_notice_minutes", "minNoticeMinutes", 0, 525_600),
        ("slot_interval_minutes", "slotIntervalMinutes", 1, 1440),
        ("seats", "seats", 1, 1000),
        ("position", "position", 0, 1_000_000),
    ],
)
def test_numbers_have_bounds(field: str, name: str, least: int, max_: int) -> None:
    for number in (least, max_):
        assert find_event_type_faults(replace(TALK, **{field: number})) == {}
    for number in (least - 1, max_ + 1):
        assert find_event_type_faults(replace(TALK, **{field: number})) == {name: f"must be from {least} to {max_}"}


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"name": " "}, {"name"}),
        ({"slug": "A-Talk"}, {"slug"}),
        ({"slug": "a--talk"}, {"slug"}),
        ({"slug": "talk-"}, {"slug"}),
        ({"slug": "x" * 101}, {"slug"}),
        ({"slug": "30min"}, set()),
        ({"description": "x" * 5001}, {"description"}),
        ({"color": "red"}, {"color"}),
        ({"location": Location(LocationKind.VIDEO_LINK, "meet.example")}, {"location.value"}),
        ({"location": Location(LocationKind.VIDEO_LINK, "https://meet.example/a")}, set()),
        ({"location": Location(LocationKind.IN_PERSON, " ")}, {"location.value"}),
        ({"location": Location(LocationKind.PHONE)}, set()),
        ({"location": Location(LocationKind.TEXT, "x" * 501)}, {"location.value"}),
        ({"booking_window": RollingWindow(731)}, {"bookingWindow.days"}),
        ({"booking_window": BusinessDaysWindow(-1)}, {"bookingWindow.days"}),
        ({"booking_window": RangeWindow(date(2026, 2, 1), date(2026, 1, 1))}, {"bookingWindow.to"}),
        ({"booking_window": RangeWindow(date(2026, 1, 1), date(2026, 1, 1))}, set()),
        ({"limits": Limits(0, 1001)}, {"limits.perDay", "limits.perWeek"}),
        ({"limits": Limits(4, 10)}, set()),
        ({"price": Money(0, "eur")}, {"price.amount", "price.currency"}),
        ({"price": Money(2500, "EUR")}, set()),
        ({"price": Money(50, "EUR")}, set()),
        ({"price": Money(49, "EUR")}, {"price.amount"}),
        ({"price": Money(17499, "HUF")}, {"price.amount"}),
        ({"price": Money(2500, "XXX")}, {"price.currency"}),
        ({"price": Money(1, "VND")}, set()),
        ({"price": Money(12345, "KWD")}, {"price.amount"}),
    ],
)
def test_each_fault_is_told_at_its_field(change: dict[str, object], fields: set[str]) -> None:
    assert find_event_type_faults(replace(TALK, **change)).keys() == fields


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        (CHOICE, set()),
        (replace(CHOICE, options=()), {"questions.0.options"}),
        (replace(CHOICE, options=("S", "S")), {"questions.0.options"}),
        (replace(CHOICE, options=("S", " ")), {"questions.0.options"}),
        (replace(CHOICE, kind=QuestionKind.TEXT), {"questions.0.options"}),
        (replace(CHOICE, key="Size"), {"questions.0.key"}),
        (replace(CHOICE, label=""), {"questions.0.label"}),
        (replace(CHOICE, kind=QuestionKind.CHOICES), set()),
        (replace(CHOICE, kind=QuestionKind.CHOICES, options=()), {"questions.0.options"}),
        (Question("terms", "I agree", QuestionKind.CONSENT, required=True), set()),
        (Question("terms", "I agree", QuestionKind.CONSENT), {"questions.0.required"}),
        (Question("why", "Why?", show_if=ShowIf("why", ("S",))), {"questions.0.showIf.key"}),
    ],
)
def test_question_must_be_answerable(question: Question, fields: set[str]) -> None:
    assert find_event_type_faults(replace(TALK, questions=(question,))).keys() == fields


SURE = Question("sure", "Sure?", QuestionKind.CHECKBOX)


@pytest.mark.parametrize(
    ("show_if", "fields"),
    [
        (ShowIf("size", ("S",)), set()),
        (ShowIf("size", ("S", "M")), set()),
        (ShowIf("sure"), set()),
        (ShowIf("size"), {"questions.3.showIf.values"}),
        (ShowIf("size", ("XL",)), {"questions.3.showIf.values"}),
        (ShowIf("sure", ("true",)), {"questions.3.showIf.values"}),
        (ShowIf("free", ("S",)), {"questions.3.showIf.key"}),
        (ShowIf("later", ("S",)), {"questions.3.showIf.key"}),
        (ShowIf("missing", ("S",)), {"questions.3.showIf.key"}),
    ],
)
def test_a_question_depends_on_an_earlier_choice_or_checkbox(show_if: ShowIf, fields: set[str]) -> None:
    depending = Question("why", "Why?", show_if=show_if)
    questions = (CHOICE, SURE, Question("free", "Free text"), depending, replace(CHOICE, key="later"))

    assert find_event_type_faults(replace(TALK, questions=questions)).keys() == fields


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({}, ["size", "sure"]),
        ({"size": "S"}, ["size", "sure", "why"]),
        ({"size": "M"}, ["size", "sure"]),
        ({"size": ("M", "S")}, ["size", "sure", "why"]),
        ({"size": ["S"]}, ["size", "sure"]),
        ({"sure": "true"}, ["size", "sure"]),
        ({"sure": True}, ["size", "sure", "how"]),
        ({"size": "S", "why": "A"}, ["size", "sure", "why", "chain"]),
        ({"size": "M", "why": "A"}, ["size", "sure"]),
    ],
)
def test_a_question_is_asked_if_the_one_it_depends_on_is_asked_and_answered_so(
    answers: dict[str, object], asked: list[str]
) -> None:
    why = Question("why", "Why?", QuestionKind.CHOICE, options=("A", "B"), show_if=ShowIf("size", ("S",)))
    how = Question("how", "How?", show_if=ShowIf("sure"))
    chain = Question("chain", "And?", show_if=ShowIf("why", ("A",)))

    assert [each.key for each in list_asked((CHOICE, SURE, why, how, chain), answers)] == asked


def test_question_is_asked_once_and_there_are_twenty_at_most() -> None:
    faults = find_event_type_faults(replace(TALK, questions=(CHOICE,) * 21))
    assert {"questions", "questions.1.key", "questions.20.key"} <= faults.keys()


@pytest.mark.parametrize(
    ("window", "wire"),
    [
        (RollingWindow(60), {"type": "rolling", "days": 60}),
        (BusinessDaysWindow(10), {"type": "businessDays", "days": 10}),
        (
            RangeWindow(date(2026, 1, 1), date(2026, 2, 1)),
            {"type": "range", "from": "2026-01-01", "to": "2026-02-01"},
        ),
    ],
)
def test_window_looks_on_the_wire_as_documented(window: BookingWindow, wire: dict[str, object]) -> None:
    assert msgspec.to_builtins(window) == wire
    assert msgspec.convert(wire, BookingWindow) == window
