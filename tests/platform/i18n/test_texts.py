"""Texts: English wherever programs read them, and every language where people do."""

import subprocess
import sys

import msgspec
import pytest

from openslot.domains.accounts.errors import EmailAlreadyExists
from openslot.domains.webhooks.errors import WebhookLimitExceeded
from openslot.platform.core.errors import Invalid
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import negotiate
from openslot.platform.i18n.localization import localize

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
    code = "import sys, openslot.platform.core.errors, openslot.platform.core.text; sys.exit('babel' in sys.modules)"

    subprocess.run([sys.executable, "-c", code], check=True)
