"""The questions of an event type's form: as typed, as read, and how one is added, removed or moved."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from openslot.core.text import LINE, PROSE
from openslot.event_types.models import Question, QuestionKind, ShowIf
from openslot.event_types.rules import WITH_OPTIONS
from openslot.i18n import Text

BEGIN = "questions."
PARTS = ("label", "kind", "required", "options", "key", "show_key", "show_values")
LONGEST_KEY = 40
NEW = {"label": "", "kind": QuestionKind.TEXT.value, "options": "", "key": "", "show_key": "", "show_values": ""}
ACT = re.compile(r"(add|remove|up|down)(?:\.([0-9]{1,2}))?", re.ASCII)
TypedQuestion = dict[str, str]
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
    """What a choice offers, one on each line."""
    key: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    show_key: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""
    """The earlier question that decides whether this one is asked; empty: it always is."""
    show_values: Annotated[str, Meta(pattern=PROSE, max_length=20_000)] = ""


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
    return put_questions({}, typed)


def list_typed(values: Mapping[str, str]) -> list[TypedQuestion]:
    """List the questions that a form has, as they were typed."""
    names = [name.removeprefix(BEGIN).partition(".") for name in values if name.startswith(BEGIN)]
    places = {int(place) for place, _, part in names if place.isascii() and place.isdecimal() and len(place) < 4}
    return [
        {part: values[name] for part in PARTS if (name := f"{BEGIN}{place}.{part}") in values}
        for place in sorted(places)
    ]


def list_deciding(typed: Sequence[TypedQuestion]) -> list[dict[str, str]]:
    """List for each question of a form those before it on whose answer it can depend, by their keys."""
    found: list[dict[str, str]] = []
    earlier: dict[str, str] = {"": ALWAYS}
    for each in typed:
        # One that was moved behind it stays, so that saving says what is wrong.
        found.append({**earlier, **{key: key for key in (each.get("show_key", ""),) if key not in earlier}})
        if each.get("key") and each.get("kind") in DECIDING:
            earlier[each["key"]] = each.get("label", "")
    return found


def put_questions(values: Mapping[str, str], typed: Sequence[TypedQuestion]) -> dict[str, str]:
    """Replace the questions of a form, numbered from zero."""
    kept = {name: text for name, text in values.items() if not name.startswith(BEGIN)}
    numbered = {f"{BEGIN}{place}.{part}": text for place, each in enumerate(typed) for part, text in each.items()}
    return kept | numbered


def change_questions(values: Mapping[str, str], act: str) -> tuple[dict[str, str], str]:
    """Add, remove or move a question of a form, and return which field to continue with; leave any other act alone."""
    typed, found = list_typed(values), ACT.fullmatch(act)
    if found is None or (found[1] != "add" and not (found[2] and int(found[2]) < len(typed))):
        return dict(values), ""
    taken = {each.get("key", "") for each in typed}
    for each in typed:
        if each.get("label") and not each.get("key"):
            # A later question can name this one.
            each["key"] = _make_key(each["label"], taken)
            taken.add(each["key"])
    place = int(found[2] or 0)
    if found[1] == "add":
        typed.append(dict(NEW))
        place = len(typed) - 1
    elif found[1] == "remove":
        del typed[place]
        place = min(place, len(typed) - 1)
    else:
        target = min(max(place + (1 if found[1] == "down" else -1), 0), len(typed) - 1)
        typed.insert(target, typed.pop(place))
        place = target
    return put_questions(values, typed), f"{BEGIN}{place}.label" if typed else "questions"


def _make_key(label: str, taken: set[str]) -> str:
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "_", plain).strip("_0123456789")[:LONGEST_KEY].strip("_") or "question"
    numbered = (words if number == 1 else f"{words}_{number}" for number in range(1, len(taken) + 3))
    return next(key for key in numbered if key not in taken)
