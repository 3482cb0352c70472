"""Who reads which language: one's own setting, then the browser's wish, then English."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from openslot.platform.i18n.languages import DEFAULT, LANGUAGES, find_locale, negotiate


@pytest.mark.parametrize(
    ("setting", "accepted", "language", "formats"),
    [
        (None, "", "en", "en_GB"),
        ("de", "fr", "de", "de"),
        ("de-AT", "", "de", "de_AT"),
        ("pt_PT", "", "pt", "pt_PT"),
        ("en_US", "", "en", "en_US"),
        ("EN-us", "", "en", "en_US"),
        ("zh-Hant-TW", "ja", "ja", "ja"),
        ("", "ar", "ar", "ar"),
        ("tlh", "", "en", "en_GB"),
        (None, "de-DE,de;q=0.9,en;q=0.8", "de", "de_DE"),
        (None, "en;q=0.5, fr-CA;q=0.9", "fr", "fr_CA"),
        (None, "zh-CN, zh;q=0.9, es-419;q=0.4", "es", "es_419"),
        (None, "fr;q=0, es", "es", "es"),
        (None, "fr;q=0, de;q=0.000", "en", "en_GB"),
        (None, "de-XX", "de", "de"),
        (None, "zh, *", "en", "en_GB"),
        (None, "nonsense;;q=x, , ;q=1, ja ; q = 0.3", "ja", "ja"),
        (None, "de;q=2, fr;q=0.1", "fr", "fr"),
        (None, "../../etc/passwd, de_../x", "en", "en_GB"),
    ],
)
def test_the_language_is_chosen(setting: str | None, accepted: str, language: str, formats: str) -> None:
    locale = negotiate(setting, accepted)

    assert (locale.language.tag, locale.formats) == (language, formats)


def test_of_equally_wanted_languages_the_first_counts() -> None:
    assert negotiate(None, "fr, de, en;q=1").language.tag == "fr"


def test_a_header_without_end_is_read_no_further_than_its_beginning() -> None:
    assert negotiate(None, "zh," * 400 + "de") == DEFAULT
    assert negotiate(None, "zh," * 200 + "de").language.tag == "de"


@given(some.text(max_size=80))
def test_no_header_breaks_the_choice(header: str) -> None:
    assert negotiate(header, header).language.tag in LANGUAGES


def test_arabic_is_written_from_right_to_left_and_the_others_are_not() -> None:
    directions = {tag: language.direction for tag, language in LANGUAGES.items()}

    assert [tag for tag, direction in directions.items() if direction == "rtl"] == ["ar"]
    assert find_locale("ar-EG") is not None
