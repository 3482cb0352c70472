"""Texts: English wherever programs read them, and every language where people do."""

import re
import subprocess
import sys

import msgspec
import pytest

from openslot.accounts.errors import EmailAlreadyExists
from openslot.bookings.models import OWN as CANCEL_REASONS
from openslot.core.errors import Invalid
from openslot.i18n import PluralText, Text, recall
from openslot.i18n.languages import negotiate
from openslot.i18n.localization import localize
from openslot.integrations.calendars.errors import OWN as CALENDAR_FAILURES
from openslot.webhooks.errors import WebhookLimitExceeded

GERMAN, ARABIC = negotiate("de"), negotiate("ar")


def at_most(count: int) -> Text:
    return PluralText("must have at most %(count)s character", "must have at most %(count)s characters", count=count)


def test_a_text_is_its_english() -> None:
    assert Text("is required") == "is required"
    assert Text("must be at least %(bound)s", bound=3) == "must be at least 3"
    assert Text("100 % sure") == "100 % sure"
    assert (at_most(1), at_most(2)) == ("must have at most 1 character", "must have at most 2 characters")


def test_a_text_is_shown_in_its_readers_language() -> None:
    assert localize(Text("is required"), GERMAN) == "ist erforderlich"
    assert localize(Text("must be at least %(bound)s", bound=3), GERMAN) == "muss mindestens 3 sein"
    assert localize(Text("must be %(wanted)s", wanted=Text("a date")), GERMAN) == "muss ein Datum sein"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (1, "يجب ألا يزيد على حرف واحد"),
        (2, "يجب ألا يزيد على حرفين"),
        (5, "يجب ألا يزيد على 5 أحرف"),
        (11, "يجب ألا يزيد على 11 حرفًا"),
        (200, "يجب ألا يزيد على 200 حرف"),
    ],
)
def test_a_language_has_its_own_plurals(count: int, shown: str) -> None:
    assert localize(at_most(count), ARABIC) == shown


def test_what_is_not_a_text_is_somebodys_own_words() -> None:
    assert localize("is required", GERMAN) == "is required"
    assert localize(Text("Hello, %(name)s", name="Sign in"), GERMAN) == "Hello, Sign in"
    assert localize(7, GERMAN) == 7


def test_a_stored_sentence_of_ours_is_found_again() -> None:
    known = (Text("is required"), Text("must be at least %(bound)s"), Text("%(day)s (%(time)s)?"))
    found = recall("must be at least 3", known)

    assert (found, localize(found, GERMAN)) == ("must be at least 3", "muss mindestens 3 sein")
    assert localize(recall("is required", known), GERMAN) == "ist erforderlich"
    assert recall("Monday (09:00)?", known).values == {"day": "Monday", "time": "09:00"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "words", ["", "is required.", "It is required", "must be at least ", "must be at least 3\n4", "100 %"]
)
def test_other_sentences_stay_as_they_were_written(words: str) -> None:
    found = recall(words, (Text("is required"), Text("must be at least %(bound)s")))

    assert (found, type(found)) == (words, str)


def test_a_refusal_is_english_for_programs_and_translated_for_people() -> None:
    refusal = EmailAlreadyExists()

    assert msgspec.json.encode([refusal.message, refusal.details, str(refusal)])
    assert (refusal.message, refusal.details) == (
        "An account with this email address already exists",
        {"email": "is taken"},
    )
    assert localize(refusal.faults["email"], GERMAN) == "ist bereits vergeben"
    assert localize(WebhookLimitExceeded(20).sentence, GERMAN) == (
        "Sie haben bereits 20 Webhook-Endpunkte. Löschen Sie zuerst einen"
    )
    assert Invalid().details is None


def test_texts_cost_the_terminal_no_catalogs() -> None:
    code = "import sys, openslot.core.errors, openslot.core.text; sys.exit('babel' in sys.modules)"

    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("known", [CALENDAR_FAILURES, CANCEL_REASONS], ids=["calendars", "cancellations"])
def test_every_stored_text_is_recalled_as_itself(known: tuple[Text, ...]) -> None:
    for text in known:
        filled = text.fill(**dict.fromkeys(re.findall(r"%\((\w+)\)s", text.msgid), "Mara Lindqvist 7"))

        found = recall(str(filled), known)

        assert isinstance(found, Text), text
        assert (found.msgid, found.values) == (text.msgid, filled.values)
