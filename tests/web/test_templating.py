"""Templates are compiled for each language: words are in place, values are escaped, and nothing is left for later."""

import pytest
from jinja2 import Template

from openslot.i18n import Text
from openslot.i18n.languages import DEFAULT, ENGLISH, LANGUAGES, Locale
from openslot.web.static_files import static_url
from openslot.web.templating import get_template, templates
from tests.web.support import SOURCES, TEMPLATES

GERMAN = Locale(language=LANGUAGES["de"], formats="de")


def in_german(source: str) -> Template:
    return get_template("booking/layout.html", GERMAN.language).environment.from_string(source)


def test_words_are_in_place_and_markup() -> None:
    assert in_german('<b title="{{ _("Time") }}">').render(locale=GERMAN) == '<b title="Uhrzeit">'


def test_values_of_a_translation_are_escaped() -> None:
    source = "{% trans zone=city %}{{ zone }} time{% endtrans %}"

    assert "&lt;b&gt;" in in_german(source).render(locale=GERMAN, city="<b>")
    assert in_german(source).render(locale=GERMAN, city="Berlin") != "Berlin time"


def test_a_percent_sign_is_written_once() -> None:
    assert in_german("{% trans %}100% of it{% endtrans %}").render(locale=GERMAN) == "100% of it"


def test_a_plural_is_chosen_when_the_page_is_shown() -> None:
    source = in_german("{% trans count=n %}{{ count }} member{% pluralize %}{{ count }} members{% endtrans %}")

    assert source.render(locale=GERMAN, n=1) == "1 Mitglied"
    assert source.render(locale=GERMAN, n=2) == "2 Mitglieder"


def test_what_is_shown_is_localized_and_escaped() -> None:
    shown = in_german("{{ words }} {{ theirs }}").render(locale=GERMAN, words=Text("Time"), theirs="Time & <b>")

    assert shown == "Uhrzeit Time &amp; &lt;b&gt;"


def test_each_language_has_templates_of_its_own() -> None:
    german, english = (get_template("booking/zones.html", language) for language in (GERMAN.language, ENGLISH))

    assert german is not english
    assert english is get_template("booking/zones.html", DEFAULT.language)


def test_the_address_of_a_file_is_in_place() -> None:
    assert templates.from_string("{{ static('openslot.css') }}").render() == static_url("openslot.css")


@pytest.mark.parametrize("source", ["{{ _(word) }}", "{{ static(path) }}", "{{ gettext() }}", "{{ _('a' ~ b) }}"])
def test_what_can_only_be_known_later_is_refused_when_the_template_is_read(source: str) -> None:
    with pytest.raises(TypeError, match="line 1"):
        templates.from_string(source)


def test_every_template_can_be_compiled() -> None:
    assert SOURCES
    for path in SOURCES:
        get_template(path.relative_to(TEMPLATES).as_posix(), ENGLISH)


EVIL, DEFUSED = "evil.io", "evil.\u2060io"
CASES = [
    ("<bdi>{{ name }}</bdi>", True),
    ('<bdi class="small">{{ user.name }}</bdi>', True),
    ("{% trans name=user.name %}Revoke “<bdi>{{ name }}</bdi>”?{% endtrans %}", True),
    (
        "{% trans count=2, name=name %}{{ count }} of {{ name }}{% pluralize %}{{ count }} of {{ name }}{% endtrans %}",
        True,
    ),
    ('{{ _("Spending of %(agent)s", agent=user.name) }}', True),
    ("{% block title %}{{ name }}{% endblock %}", True),
    ('<input value="{{ name }}">', False),
    ("<textarea>{{ name }}</textarea>", False),
    ("<code>{{ name }}</code>", False),
    ("<bdi>{{ description }}</bdi>", False),
    ("<bdi>{{ domain.name }}</bdi>", False),
]


@pytest.mark.parametrize(("source", "is_defused"), CASES)
def test_names_become_no_links_and_everything_else_stays(source: str, is_defused: bool) -> None:
    thing = {"name": EVIL}
    shown = in_german(source).render(locale=GERMAN, name=EVIL, user=thing, description=EVIL, domain=thing)

    assert (DEFUSED in shown, EVIL in shown) == (is_defused, not is_defused)
