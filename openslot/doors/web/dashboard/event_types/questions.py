"""Pages: the questions of an event type, and how one is added, removed or moved, as typed and as read."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types.errors import EventTypeChanged
from openslot.domains.event_types.models import EventType, Question, QuestionKind, ShowIf
from openslot.domains.event_types.operations import edit_event_type, get_event_type
from openslot.domains.event_types.rules import MAX_QUESTIONS, WITH_OPTIONS, edition_of, find_event_type_faults
from openslot.doors.web.dashboard.event_types.embeds import WITH_FRAMES
from openslot.doors.web.dashboard.event_types.typed_rows import TypedRow, change_rows, list_rows, put_rows
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE, PROSE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Response, get, post

NOTICES = {"saved": Text("Your changes were saved.")}

NAME = "questions"
PARTS = ("label", "kind", "required", "options", "key", "show_key", "show_values")
LONGEST_KEY = 40
NEW = {"label": "", "kind": QuestionKind.TEXT.value, "options": "", "key": "", "show_key": "", "show_values": ""}
DECIDING = (*WITH_OPTIONS, QuestionKind.CHECKBOX)
ALWAYS = Text("Always")
KINDS = {
    QuestionKind.TEXT.value: Text("Single line of text"),
    QuestionKind.LONG_TEXT.value: Text("Multiple lines of text"),
    QuestionKind.CHOICE.value: Text("Single choice"),
    QuestionKind.CHOICES.value: Text("Several choices"),
    QuestionKind.CHECKBOX.value: Text("Checkbox"),
    QuestionKind.CONSENT.value: Text("Consent that must be given"),
    QuestionKind.PHONE.value: Text("Phone number"),
    QuestionKind.EMAIL.value: Text("Email address"),
}


class QuestionForm(Struct, frozen=True, kw_only=True):
    label: Annotated[str, Meta(pattern=LINE, max_length=500)] = ""
    kind: QuestionKind = QuestionKind.TEXT
    required: bool = False
    options: Annotated[str, Meta(pattern=PROSE, max_length=20_000)] = ""
    """The options of a choice, one on each line."""
    key: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    show_key: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    """The earlier question that decides whether this one is asked; empty if it always is."""
    show_values: Annotated[str, Meta(pattern=PROSE, max_length=20_000)] = ""


class QuestionsForm(Struct, frozen=True, kw_only=True):
    questions: tuple[QuestionForm, ...] = ()
    edition: Annotated[str, Meta(max_length=500)] = ""
    """The event type as the form showed it when it was opened."""
    act: Annotated[str, Meta(max_length=100)] = ""
    """The action of the button, if it is not to save."""


@get("/event-types/{event_type_id}/questions")
async def show_questions(work: Work, user: User, event_type_id: UUID) -> Response:
    event_type = await get_event_type(work, user, event_type_id)
    return _show(user, event_type, Form(values=_write_form(event_type)))


@post("/event-types/{event_type_id}/questions")
async def save_questions(work: Work, user: User, event_type_id: UUID, form: Form[QuestionsForm]) -> Response:
    """Save the questions of an event type, or change those of the form without saving them."""
    event_type = await get_event_type(work, user, event_type_id)
    if form["act"]:
        values, focus = change_questions(form.values, form["act"])
        return _show(user, event_type, Form(values=values), focus=focus)
    if form.faults:
        return _show(user, event_type, form)
    edited, faults = describe_questions(form.get(), event_type)
    if faults:
        return _show(user, event_type, form.with_faults(faults))
    try:
        async with work.attempt():
            await edit_event_type(work, user, edited, edition=form["edition"], fields=("questions",))
    except EventTypeChanged:
        values = {**form.values, "edition": edition_of(event_type)}
        return _show(user, event_type, Form(values=values), status=409)
    except Invalid as refusal:
        return _show(user, event_type, form.with_faults(_name_faults(refusal.faults)))
    return redirect(f"/event-types/{event_type_id}/questions?done=saved")


def _write_form(event_type: EventType) -> dict[str, str]:
    return {**write_questions(event_type.questions), "edition": edition_of(event_type)}


def _show(
    user: User, event_type: EventType, form: Form[QuestionsForm], *, status: int | None = None, focus: str = ""
) -> Response:
    typed, path = list_typed(form.values), f"/event-types/{event_type.id}"
    shown = page(
        "dashboard/event_types/questions.html",
        user,
        status=status,
        notices=NOTICES,
        here="/event-types",
        event_type=event_type,
        path=path,
        preview=f"{path}/questions/preview",
        first_preview=f"{path}/preview",
        form=form,
        focus=focus,
        questions=typed,
        deciding=list_deciding(typed),
        kinds=KINDS,
        max_questions=MAX_QUESTIONS,
    )
    return replace(shown, headers={**shown.headers, "content-security-policy": WITH_FRAMES})


def describe_questions(sent: QuestionsForm, base: EventType) -> tuple[EventType, dict[str, str]]:
    """Read an event type with the questions of a form, and every fault of them at its field."""
    described = replace(base, questions=read_questions(sent.questions))
    faults = _name_faults(find_event_type_faults(described))
    return described, {field: fault for field, fault in faults.items() if field.startswith("questions")}


def _name_faults(faults: Mapping[str, str]) -> dict[str, str]:
    return {field.replace(".showIf.", ".show_"): fault for field, fault in faults.items()}


def read_questions(sent: Iterable[QuestionForm]) -> tuple[Question, ...]:
    """Read questions; one without a key gets one from its words."""
    questions: list[Question] = []
    sent = list(sent)
    taken = {each.key.strip() for each in sent}
    for each in sent:
        key = each.key.strip() or _make_key(each.label, taken)
        taken.add(key)
        questions.append(
            Question(
                key=key,
                label=each.label.strip(),
                kind=each.kind,
                required=each.required or each.kind is QuestionKind.CONSENT,
                options=_read_lines(each.options) if each.kind in WITH_OPTIONS else (),
                show_if=ShowIf(each.show_key, _read_lines(each.show_values)) if each.show_key else None,
            )
        )
    return tuple(questions)


def _read_lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def write_questions(questions: Sequence[Question]) -> dict[str, str]:
    typed = [
        {
            "label": each.label,
            "kind": each.kind.value,
            "options": "\n".join(each.options),
            "key": each.key,
            "show_key": each.show_if.key if each.show_if else "",
            "show_values": "\n".join(each.show_if.values) if each.show_if else "",
            **({"required": "on"} if each.required else {}),
        }
        for each in questions
    ]
    return put_rows({}, NAME, typed)


def list_typed(values: Mapping[str, str]) -> list[TypedRow]:
    """List the questions that a form has, as they were typed."""
    return list_rows(values, NAME, PARTS)


def list_deciding(typed: Sequence[TypedRow]) -> list[dict[str, str]]:
    """List for each question of a form those before it on whose answer it can depend, by their keys."""
    found: list[dict[str, str]] = []
    earlier: dict[str, str] = {"": ALWAYS}
    for each in typed:
        # One that was moved behind it stays, so that saving says what is wrong.
        found.append({**earlier, **{key: key for key in (each.get("show_key", ""),) if key not in earlier}})
        if each.get("key") and each.get("kind") in DECIDING:
            earlier[each["key"]] = each.get("label", "")
    return found


def change_questions(values: Mapping[str, str], act: str) -> tuple[dict[str, str], str]:
    """Add, remove or move a question of a form, and return which field to continue with; leave any other act alone."""
    typed = list_typed(values)
    taken = {each.get("key", "") for each in typed}
    for each in typed:
        if each.get("label") and not each.get("key"):
            # A later question can name this one.
            each["key"] = _make_key(each["label"], taken)
            taken.add(each["key"])
    place = change_rows(typed, act, new=NEW)
    if place is None:
        return dict(values), ""
    return put_rows(values, NAME, typed), f"{NAME}.{place}.label" if typed else NAME


def _make_key(label: str, taken: set[str]) -> str:
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "_", plain).strip("_0123456789")[:LONGEST_KEY].strip("_") or "question"
    numbered = (words if number == 1 else f"{words}_{number}" for number in range(1, len(taken) + 3))
    return next(key for key in numbered if key not in taken)
