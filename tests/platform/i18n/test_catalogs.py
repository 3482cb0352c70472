"""Every text is translated into every language, with the same placeholders and the same markup, and nothing else is."""

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from openslot.platform.i18n.languages import LANGUAGES
from openslot.platform.i18n.localization import get_catalog
from tests.support.once import made_once

ROOT = Path(__file__).parents[3]
TRANSLATED = sorted(LANGUAGES.keys() - {"en"})
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%(?!\()")
TAG = re.compile(r"</?[a-z][^>]*>")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Collect the texts as `make messages` does, once for all processes of the run."""
    return read(made_once(tmp_path_factory, "messages", collect) / "openslot.pot")


def collect(place: Path) -> None:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [ROOT / "scripts/messages", place / "openslot.pot"]
    subprocess.run(command, check=True, env={**os.environ, "PATH": tools})


def read(path: Path, locale: str | None = None) -> Catalog:
    with path.open("rb") as source:
        return read_po(source, locale=locale)


@cache
def catalog(language: str) -> Catalog:
    return read(ROOT / f"openslot/platform/i18n/locales/{language}/LC_MESSAGES/openslot.po", language)


def messages(found: Catalog) -> list[Message]:
    return [message for message in found if message.id]


def forms(message: Message) -> tuple[str, ...]:
    return message.string if isinstance(message.string, tuple) else (str(message.string),)


def english(message: Message) -> str:
    """Give the text whose placeholders every form must have: of two, the plural."""
    return message.id if isinstance(message.id, str) else message.id[-1]


def parts(pattern: re.Pattern[str], text: str) -> Counter[str]:
    return Counter(pattern.findall(text))


def is_for_one_number(found: Catalog, form: int) -> bool:
    """Tell whether a plural form is said of a single number, which it may then leave out."""
    chooses = get_catalog(LANGUAGES[str(found.locale)])
    return sum(chooses.plural(number) == form for number in range(300)) == 1  # type: ignore[attr-defined]


def test_there_is_a_catalog_for_every_language_and_no_other() -> None:
    folders = [path.name for path in (ROOT / "openslot/platform/i18n/locales").iterdir()]

    assert sorted(folders) == TRANSLATED


def test_texts_are_found_in_templates_and_modules(template: Catalog) -> None:
    found = {english(message) for message in messages(template)}

    assert {"Sign in", "All times in <bdi>%(zone)s</bdi>", "Page not found", "is required"} <= found
    assert "must have at most %(count)s characters" in found
    assert len(found) > 200


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalog_has_every_text_and_no_other(language: str, template: Catalog) -> None:
    wanted = {message.id for message in messages(template)}
    there = {message.id for message in messages(catalog(language))}

    assert wanted - there == set(), "run `make messages` and translate what is new"
    assert there - wanted == set(), "run `make messages`"
    assert catalog(language).obsolete == {}


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language: str) -> None:
    found = catalog(language)

    assert [message.id for message in messages(found) if not all(forms(message))] == []
    assert [message.id for message in messages(found) if message.fuzzy] == []
    plurals = [len(forms(message)) for message in messages(found) if isinstance(message.id, tuple)]
    assert set(plurals) == {found.num_plurals}


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_has_the_placeholders_and_tags_of_its_text(language: str) -> None:
    found = catalog(language)
    for message in messages(found):
        for form, text in enumerate(forms(message)):
            assert parts(TAG, text) == parts(TAG, english(message)), text
            wanted, has = parts(PLACEHOLDER, english(message)), parts(PLACEHOLDER, text)
            if isinstance(message.id, tuple) and is_for_one_number(found, form):
                has["%(count)s"] = wanted["%(count)s"]
            assert has == wanted, text


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_begins_and_ends_as_its_text_does(language: str) -> None:
    stops = {".": ".。", ":": ":：", "?": "?？؟", "…": "…"}
    for message in messages(catalog(language)):
        for text in forms(message):
            assert text == text.strip(), text
            stop = stops.get(english(message)[-1])
            assert (text[-1] in stop) if stop else text[-1] not in ".。:：", text


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_translation_says_the_same_twice(language: str) -> None:
    repeated = [
        form
        for message in messages(catalog(language))
        for form in forms(message)
        if len(form) > 20 and form in (form + form)[1:-1]
    ]

    assert repeated == []
