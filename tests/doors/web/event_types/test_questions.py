"""The page of the questions: added, removed and moved without a script, and read with keys of their own."""

from itertools import pairwise

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Question, QuestionKind, ShowIf
from openslot.doors.web.dashboard.event_types.questions import (
    QuestionForm,
    change_questions,
    list_typed,
    read_questions,
    write_questions,
)
from openslot.platform.core.work import Runtime
from tests.doors.web.event_types.conftest import load, offer, read_faults, read_fields, save_questions
from tests.support.page import read_page

THREE = write_questions([Question(key, key.title()) for key in ("a", "b", "c")])


@pytest.mark.parametrize(
    ("act", "keys", "focus"),
    [
        ("add", ["a", "b", "c", ""], "questions.3.label"),
        ("remove.1", ["a", "c"], "questions.1.label"),
        ("remove.2", ["a", "b"], "questions.1.label"),
        ("up.2", ["a", "c", "b"], "questions.1.label"),
        ("up.0", ["a", "b", "c"], "questions.0.label"),
        ("down.0", ["b", "a", "c"], "questions.1.label"),
        ("down.2", ["a", "b", "c"], "questions.2.label"),
        ("remove.3", ["a", "b", "c"], ""),
        ("remove", ["a", "b", "c"], ""),
        ("remove.-1", ["a", "b", "c"], ""),
        ("explode.1", ["a", "b", "c"], ""),
        ("up.١", ["a", "b", "c"], ""),
    ],
)
def test_an_act_changes_the_questions_of_the_form(act: str, keys: list[str], focus: str) -> None:
    values, continued = change_questions({**THREE, "name": "Intro"}, act)

    assert [each["key"] for each in list_typed(values)] == keys
    assert (values["name"], continued) == ("Intro", focus)


def test_removing_the_last_question_continues_with_the_button_that_adds_one() -> None:
    values, focus = change_questions(write_questions([Question("a", "A")]), "remove.0")

    assert (list_typed(values), focus) == ([], "questions")


def test_numbers_that_are_no_places_are_left_out() -> None:
    assert list_typed({"questions.x.label": "1", "questions.9999.label": "2", "questions.": "3"}) == []
    assert list_typed({"questions.7.label": "b", "questions.2.label": "a"}) == [{"label": "a"}, {"label": "b"}]


def test_a_question_without_a_key_gets_one_of_its_own() -> None:
    labels = ["Your company?", "Your company!", "2nd choice", "会社名", "Telefon für Rückfragen", "x" * 200, ""]
    keys = [each.key for each in read_questions([QuestionForm(label=label) for label in labels])]

    assert keys[:5] == ["your_company", "your_company_2", "nd_choice", "question", "telefon_fur_ruckfragen"]
    assert len(set(keys)) == len(keys)
    assert all(len(key) <= 50 for key in keys)


def test_a_made_key_never_takes_a_typed_one() -> None:
    made, typed = read_questions([QuestionForm(label="Topic"), QuestionForm(label="Other", key="topic")])

    assert (made.key, typed.key) == ("topic_2", "topic")


def test_options_are_lines_and_only_a_choice_has_them() -> None:
    choice = QuestionForm(label="Size", kind=QuestionKind.CHOICE, options=" S \n\n M\r\nL")
    text = QuestionForm(label="Size", options="S\nM", key="other")

    assert [each.options for each in read_questions([choice, text])] == [("S", "M", "L"), ()]


async def test_questions_are_added_moved_and_saved_by_buttons_alone(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}/questions"
    fields = read_fields((await member.get(path)).text)
    for number, label in enumerate(("First", "Second")):
        answer = await member.post(path, data={**fields, "act": "add"})
        assert answer.status_code == 200
        assert 'data-watch="unsaved"' in answer.text
        fields = {**read_fields(answer.text), f"questions.{number}.label": label}
    fields = read_fields((await member.post(path, data={**fields, "act": "up.1"})).text)
    assert await load(runtime, user, intro) == intro
    fields |= {"questions.0.kind": "choice", "questions.0.options": "A\nB", "questions.0.required": "on"}
    answer = await member.post(path, data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}?done=saved")

    saved = await load(runtime, user, intro)
    assert saved.name == intro.name
    assert saved.questions == (
        Question("second", "Second", QuestionKind.CHOICE, required=True, options=("A", "B")),
        Question("first", "First"),
    )


async def test_a_question_can_be_shown_for_an_answer_to_an_earlier_one(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}/questions"
    fields = read_fields((await member.get(path)).text)
    fields = read_fields((await member.post(path, data={**fields, "act": "add"})).text)
    assert "questions.0.show_key" not in fields
    fields |= {"questions.0.label": "Your topic", "questions.0.kind": "choices", "questions.0.options": "Price\nTerms"}
    fields = read_fields((await member.post(path, data={**fields, "act": "add"})).text)
    fields |= {"questions.1.label": "How many?", "questions.1.show_key": "your_topic"}
    refused = await member.post(path, data={**fields, "questions.1.show_values": "Price\nHats"})
    assert refused.status_code == 400
    assert read_page(refused).faults["questions.1.show_values"] == "Must be options of the earlier question"
    moved = await member.post(path, data={**fields, "questions.1.show_values": "Price", "act": "up.1"})
    behind = await member.post(path, data=read_fields(moved.text))
    assert read_page(behind).faults["questions.0.show_key"] == "Must be an earlier choice or checkbox"
    assert (await member.post(path, data={**fields, "questions.1.show_values": "Price"})).status_code == 303

    saved = await load(runtime, user, intro)
    assert saved.questions == (
        Question("your_topic", "Your topic", QuestionKind.CHOICES, options=("Price", "Terms")),
        Question("how_many", "How many?", show_if=ShowIf("your_topic", ("Price",))),
    )
    assert read_fields((await member.get(path)).text)["questions.1.show_values"] == "Price"


async def test_a_consent_is_always_required(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    await save_questions(member, intro, **{"questions.0.label": "I agree", "questions.0.kind": "consent"})

    [saved] = (await load(runtime, user, intro)).questions
    assert (saved.kind, saved.required) == (QuestionKind.CONSENT, True)


async def test_there_are_twenty_questions_at_most(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    full = await offer(runtime, user, "full", questions=tuple(Question(f"q{n}", f"Q{n}") for n in range(20)))
    page = (await member.get(f"/event-types/{full.id}/questions")).text
    assert "An event type can have 20 questions." in page
    assert 'value="add"' not in page

    answer = await save_questions(member, full, **{"questions.20.label": "One more"})
    assert answer.status_code == 400
    assert "Must have at most 20 entries" in read_page(answer).text


async def test_the_answer_to_a_question_of_the_form_reaches_the_booking_page(
    member: httpx2.AsyncClient, intro: EventType
) -> None:
    labels = ["One", "Two", "Three"]
    await save_questions(member, intro, **{f"questions.{n}.label": label for n, label in enumerate(labels)})
    page = (await member.get("/mara/30min")).text

    places = [page.index(f'name="answers.{label.lower()}"') for label in labels]
    assert all(before < after for before, after in pairwise(places))


FAULTS: list[tuple[dict[str, str], str, str]] = [
    ({"questions.0.label": "", "questions.0.kind": "text"}, "questions.0.label", "Must be 1 to 200 characters"),
    ({"questions.0.label": "x", "questions.0.key": "Size"}, "questions.0.key", "Must be a lower-case letter"),
    ({"questions.0.label": "x", "questions.0.kind": "choice"}, "questions.0.options", "Must have 1 to 50 entries"),
    ({"questions.0.label": "x", "questions.0.kind": "poem"}, "questions.0.kind", "Must be one of"),
]


async def test_a_fault_is_told_at_its_field_and_what_was_typed_stays(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    for sent, field, fault in FAULTS:
        answer = await save_questions(member, intro, **sent)

        assert answer.status_code == 400, sent
        assert read_faults(answer.text)[field].startswith(fault), sent
        shown = read_fields(answer.text)
        assert all(shown[name] == text for name, text in sent.items() if not name.endswith(".kind")), sent
        assert await load(runtime, user, intro) == intro, sent


async def test_details_and_questions_are_saved_beside_each_other(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, intro: EventType
) -> None:
    path = f"/event-types/{intro.id}"
    details = read_fields((await member.get(path)).text)
    asked = read_fields((await member.get(f"{path}/questions")).text)
    assert (await save_questions(member, intro, **{"questions.0.label": "Topic"})).status_code == 303
    assert (await member.post(path, data={**details, "name": "Renamed"})).status_code == 303
    late = await member.post(f"{path}/questions", data={**asked, "questions.0.label": "Budget"})

    assert late.status_code == 409
    assert "Questions: changed. Your value is shown below" in read_page(late).notices[0]
    saved = await load(runtime, user, intro)
    assert (saved.name, saved.questions) == ("Renamed", (Question("topic", "Topic"),))
    assert (await member.post(f"{path}/questions", data=read_fields(late.text))).status_code == 303
    saved = await load(runtime, user, intro)
    assert (saved.name, saved.questions) == ("Renamed", (Question("budget", "Budget"),))


async def test_every_page_of_an_event_type_leads_to_the_others(member: httpx2.AsyncClient, intro: EventType) -> None:
    path = f"/event-types/{intro.id}"
    pages = [path, f"{path}/questions", f"{path}/reminders", f"{path}/wait-list"]
    for each in pages:
        shown = await member.get(each)
        assert set(pages) <= set(read_page(shown).addresses), each
        assert f'<a href="{each}" aria-current="page">' in shown.text
