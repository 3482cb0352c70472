"""Templates: words in the reader's language, values escaped, and names that become no links."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Template, nodes
from jinja2.visitor import NodeVisitor

from openslot.doors.web.shared.static_files import static_url
from openslot.doors.web.shared.templating import get_template, templates
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import DEFAULT, ENGLISH, LANGUAGES, Locale
from tests.doors.web.support import SOURCES, TEMPLATES

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


def test_every_template_can_be_compiled() -> None:
    assert SOURCES
    for path in SOURCES:
        get_template(path.relative_to(TEMPLATES).as_posix(), ENGLISH)


def show(source: str) -> str:
    thing = {"name": "evil.io"}
    return in_german(source).render(locale=GERMAN, name="evil.io", user=thing)


def test_a_defused_name_becomes_no_link() -> None:
    assert show("<bdi>{{ user.name | defused }}</bdi>") == "<bdi>evil.\u2060io</bdi>"
    assert "evil.\u2060io" in show("{% trans name=name | defused %}Revoke “<bdi>{{ name }}</bdi>”?{% endtrans %}")
    assert show('<input value="{{ name }}">') == '<input value="evil.io">'


# How templates call what people choose for themselves and others read. Descriptions, places and messages are texts, in
# which links are meant; fields and code show what was entered.
NAMES = frozenset(
    {
        "actor_name",
        "event",
        "event_type",
        "host",
        "host_name",
        "invitee",
        "invitee_name",
        "name",
        "names",
        "organization",
        "organization_name",
        "user_name",
    }
)
NOT_NAMES = frozenset({"domain", "zone", "calendar", "client"})
TRANSLATING = frozenset({"_", "gettext", "ngettext"})
OPENED = re.compile(r'<(?:bdi[^>]*|span\sclass="unseen")>\s*$')


class _Faults(NodeVisitor):
    """Finds names in `<bdi>`, in titles and in sentences that are not defused, and words that no catalog can have."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self._in_title = False

    def visit_Block(self, node: nodes.Block) -> None:  # noqa: N802 - the name that Jinja calls
        self._in_title = node.name == "title"
        self.generic_visit(node)
        self._in_title = False

    def visit_Output(self, node: nodes.Output) -> None:  # noqa: N802 - the name that Jinja calls
        self.generic_visit(node)
        for last, each in zip([None, *node.nodes], node.nodes, strict=False):
            if (self._in_title or _opens_bdi(last)) and _is_name(each):
                self.found.append(each.lineno)

    def visit_Call(self, node: nodes.Call) -> None:  # noqa: N802 - the name that Jinja calls
        self.generic_visit(node)
        if not isinstance(node.node, nodes.Name) or node.node.name not in {*TRANSLATING, "static"}:
            return
        is_constant = bool(node.args) and isinstance(node.args[0], nodes.Const)
        if not is_constant or any(_is_name(value.value, key=value.key) for value in node.kwargs):
            self.found.append(node.lineno)


def _opens_bdi(node: nodes.Node | None) -> bool:
    return isinstance(node, nodes.TemplateData) and OPENED.search(node.data) is not None


def _is_name(node: nodes.Node, *, key: str = "") -> bool:
    match node:
        case nodes.Getattr(node=nodes.Name(name=owner)) if owner in NOT_NAMES:
            return False
        case nodes.Getattr(attr=name) | nodes.Name(name=name):
            return name in NAMES or key in NAMES
    return False


def faults_in(source: str) -> list[int]:
    faults = _Faults()
    faults.visit(templates.parse(source))
    return faults.found


def _faults() -> Iterator[tuple[Path, int]]:
    for path in SOURCES:
        yield from ((path.relative_to(TEMPLATES), line) for line in faults_in(path.read_text("utf-8")))


def test_names_are_defused_and_words_are_constants_in_every_template() -> None:
    assert list(_faults()) == []


@pytest.mark.parametrize(
    ("source", "is_fault"),
    [
        ("<bdi>{{ name }}</bdi>", True),
        ("<bdi>{{ name | defused }}</bdi>", False),
        ('<bdi class="small">{{ user.name }}</bdi>', True),
        ("{% trans name=user.name %}Revoke “<bdi>{{ name }}</bdi>”?{% endtrans %}", True),
        ("{% trans name=user.name | defused %}Revoke “<bdi>{{ name }}</bdi>”?{% endtrans %}", False),
        ("{% trans name %}Revoke {{ name }}?{% endtrans %}", True),
        ("{% trans count=2, name=name %}{{ count }} of {{ name }}{% pluralize %}{{ name }}{% endtrans %}", True),
        ('{{ _("Spending of %(agent)s", agent=user.name) }}', True),
        ("{% block title %}{{ name }}{% endblock %}", True),
        ("{% block title %}{% if name %}{{ name }}{% endif %}{% endblock %}", True),
        ('<input value="{{ name }}">', False),
        ("<textarea>{{ name }}</textarea>", False),
        ("<code>{{ name }}</code>", False),
        ("<bdi>{{ description }}</bdi>", False),
        ("<bdi>{{ domain.name }}</bdi>", False),
        ("{{ _(word) }}", True),
        ("{{ static(path) }}", True),
        ("{{ gettext() }}", True),
        ("{{ _('a' ~ b) }}", True),
    ],
)
def test_what_a_template_must_not_forget_is_found(source: str, is_fault: bool) -> None:
    assert bool(faults_in(source)) == is_fault


LANDMARK = re.compile(r"""<nav[^>]* aria-label="\{\{ _\('([^']+)'\) \}\}\"""")


def test_no_navigation_of_a_page_is_called_like_one_of_the_frame_around_it() -> None:
    frame = set(LANDMARK.findall((TEMPLATES / "layout/app.html").read_text()))
    others = {
        (path.relative_to(TEMPLATES).as_posix(), name)
        for path in TEMPLATES.rglob("*.html")
        if path.name != "app.html"
        for name in LANDMARK.findall(path.read_text())
    }

    assert len(frame) == 2
    assert {each for each in others if each[1] in frame} == set()
    assert ("dashboard/lists.html", "Pages") in others
