"""A reason is kept as a code with its values, and said in every language."""

import importlib
import pkgutil
import re

import pytest

import openslot
from openslot.domains.bookings.models import LEFT
from openslot.domains.mail.reasons import UNWANTED
from openslot.platform.core.effects import REPLACED
from openslot.platform.i18n import CodedReason, keep, recall, say
from openslot.platform.i18n.languages import ENGLISH, LANGUAGES, negotiate
from openslot.platform.i18n.localization import get_catalog, localize
from openslot.platform.i18n.texts import LONGEST_KEPT, list_reasons
from scripts.reasons import find_literal_skips, list_literal_skips

for _module in pkgutil.walk_packages(openslot.__path__, "openslot."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)

REASONS = [each for each in list_reasons() if not each.code.startswith("test.")]
GONE = LEFT.fill(host='Ada "Al" Ö', organization="Acme; Söhne")


def named(reason: CodedReason) -> str:
    return reason.code


@pytest.mark.parametrize("reason", REASONS, ids=named)
def test_every_code_has_words_in_every_language(reason: CodedReason) -> None:
    for language in LANGUAGES.values():
        if language is not ENGLISH:
            assert get_catalog(language).gettext(reason.msgid) != reason.msgid, language.tag


@pytest.mark.parametrize("reason", REASONS, ids=named)
def test_a_code_is_short_and_is_no_sentence(reason: CodedReason) -> None:
    assert re.fullmatch(r"[a-z_]+(\.[a-z0-9_]+)+", reason.code)
    assert len(reason.code) <= 60


@pytest.mark.parametrize("reason", REASONS, ids=named)
def test_every_reason_is_recalled_as_itself(reason: CodedReason) -> None:
    names = re.findall(r"%\((\w+)\)s", reason.msgid + reason.said)
    filled = reason.fill(**dict.fromkeys(names, "Mara Lindqvist 7")) if names else reason

    found = recall(keep(filled))

    assert isinstance(found, CodedReason)
    assert (found.code, found, found.said, found.values) == (filled.code, filled, filled.said, filled.values)
    assert say(keep(filled)) == filled.said


def test_a_reason_is_kept_as_its_code_with_its_values() -> None:
    assert keep(UNWANTED) == "mail.unwanted"
    assert keep(GONE) == r'bookings.host_left {"host":"Ada \"Al\" Ö","organization":"Acme; Söhne"}'


def test_a_reason_is_shown_in_its_readers_language() -> None:
    assert localize(recall("mail.unwanted"), negotiate("de")) == "Sie haben diese E-Mails abgeschaltet"
    assert str(recall(keep(GONE))) == 'Ada "Al" Ö is no longer with Acme; Söhne'


def test_programs_and_logs_have_their_own_sentence() -> None:
    assert (say("mail.unwanted"), str(UNWANTED)) == (
        "the host has switched these mails off",
        "you have turned these emails off",
    )


@pytest.mark.parametrize(
    "words",
    ["", "Ill today", "the endpoint is deleted", "no.such", "bookings.host_left me", 'bookings.host_left {"a":1}'],
)
def test_the_words_of_somebody_else_stay_as_they_are(words: str) -> None:
    assert (recall(words), say(words), keep(words)) == (words, words, words)
    assert not isinstance(recall(words), CodedReason)


def test_words_that_read_like_a_code_are_not_taken_for_ours() -> None:
    assert recall(keep("mail.unwanted")) == " mail.unwanted"
    assert recall(keep("mail.unwanted; never")) == " mail.unwanted; never"


def test_of_what_had_failed_before_the_page_says_why_it_is_left_out_and_programs_are_told_both() -> None:
    kept = f"{REPLACED.kept}; it had failed: {keep(GONE)}"

    assert recall(kept) == REPLACED
    assert say(kept) == f"a newer change took its place; it had failed: {GONE}"


def test_a_reason_that_is_too_long_is_kept_as_its_beginning() -> None:
    kept = keep(LEFT.fill(host="x" * 2000, organization="Acme"))

    assert len(kept) == LONGEST_KEPT
    assert say(kept) == kept


def test_a_code_has_one_meaning() -> None:
    with pytest.raises(ValueError, match="two meanings"):
        CodedReason(UNWANTED.code, "something else")


def test_nothing_is_left_out_with_a_sentence() -> None:
    assert list_literal_skips() == []


@pytest.mark.parametrize(
    "source",
    [
        'Skipped("the endpoint is deleted")',
        'Skipped(f"the endpoint is {state}")',
        'leave_unsent(work, effect, "it is over" if host else GONE)',
        'Skipped(lost or "it is over")',
    ],
)
def test_a_sentence_is_recognized(source: str) -> None:
    assert list(find_literal_skips(source)) == [1]


@pytest.mark.parametrize("source", ["Skipped(DELETED)", "Skipped(DROPPED[reason])", 'Note("the endpoint is deleted")'])
def test_a_reason_is_no_sentence(source: str) -> None:
    assert list(find_literal_skips(source)) == []
