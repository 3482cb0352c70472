"""No visible sentence stands outside the catalogs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import openslot
from openslot.domains.calendars.errors import CalendarFault
from tests.platform.i18n import visible


def all_subclasses(parent: type[object]) -> Iterator[type[object]]:
    for child in parent.__subclasses__():
        yield child
        yield from all_subclasses(child)


ROOT = Path(openslot.__file__).parent
TEMPLATES = sorted((ROOT / "doors/web/templates").rglob("*.html"))
# What an operation's entry in the API's reference says is the API's own description, which is English.
ENGLISH = {"api_docs_parts.html"}
# Commands for the terminal, and the reference of the API, are the same in every language.
FOR_PROGRAMMERS = {"api_docs", "curl.py"}
PAGES = sorted(path for path in (ROOT / "doors/web").rglob("*.py") if not FOR_PROGRAMMERS & set(path.parts))
# Refusals that only programs meet.
MACHINES = {"scim", "agents", "mcp"}
REFUSALS = sorted(path for path in ROOT.glob("*/**/errors.py") if path.parent.name not in MACHINES)
SCRIPTS = sorted((ROOT / "doors/web").rglob("*.js"))
# Modules that say what is wrong with a field of a form.
FAULTS = [
    ROOT / path
    for path in (
        "domains/accounts/rules.py",
        "platform/core/text.py",
        "platform/core/times.py",
        "doors/http/bodies.py",
    )
]
# What only programs are told, because no form can be wrong in this way.
FOR_PROGRAMS = ("is nested deeper than ", "is not valid JSON", "must be an E.164 phone number: ")
# Modules without any other words.
RULES = [ROOT / path for path in ("domains/accounts/rules.py", "platform/core/times.py", "domains/schedules/rules.py")]
# Modules whose failures a host reads on pages and in mails.
PEERS = sorted(
    [
        each
        for folder in ("domains/calendars", "vendors", "platform/core/outbound")
        for each in (ROOT / folder).rglob("*.py")
    ]
)
FAILURES = frozenset(
    {"CalendarFault", *(each.__name__ for each in all_subclasses(CalendarFault)), "OutboundFailed"}
) - {
    # Told to the log: another process reads the connection.
    "LeaseLost"
}
# Modules that cancel bookings, or leave out what was to be done, and say why.
WRITERS = sorted(
    path
    for folder in ("domains/bookings", "domains/calendars", "domains/mail", "domains/people", "doors/scim", "vendors")
    for path in (ROOT / folder).rglob("*.py")
)


def named(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("path", TEMPLATES, ids=named(TEMPLATES))
def test_a_template_takes_its_words_from_the_catalogs(path: Path) -> None:
    source = path.read_text("utf-8")

    if path.name not in ENGLISH:
        assert visible.in_markup(source) == []
        assert visible.in_expressions(source) == []


@pytest.mark.parametrize("path", [*PAGES, *RULES], ids=named([*PAGES, *RULES]))
def test_a_page_module_takes_its_words_from_the_catalogs(path: Path) -> None:
    assert visible.in_module(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", REFUSALS, ids=named(REFUSALS))
def test_what_a_refusal_says_is_in_the_catalogs(path: Path) -> None:
    assert visible.in_refusals(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", FAULTS, ids=named(FAULTS))
def test_what_is_wrong_with_a_field_is_in_the_catalogs(path: Path) -> None:
    plain = [text for text in visible.in_module(path.read_text("utf-8")) if text.startswith(("is ", "has ", "must "))]
    plain = [text for text in plain if not text.startswith(FOR_PROGRAMS)]

    assert plain == []


@pytest.mark.parametrize("path", PEERS, ids=named(PEERS))
def test_how_another_server_fails_is_in_the_catalogs(path: Path) -> None:
    assert visible.in_raised(path.read_text("utf-8"), FAILURES) == []


def test_why_a_booking_was_cancelled_is_in_the_catalogs() -> None:
    plain = {reason for path in WRITERS for reason in visible.in_reasons(path.read_text("utf-8"))}

    assert plain == set()


@pytest.mark.parametrize("path", SCRIPTS, ids=named(SCRIPTS))
def test_a_script_has_no_words_of_its_own(path: Path) -> None:
    assert visible.in_script(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "<p>Hello</p>",
        "<p>{{ name }} was created</p>",
        '<p>{% trans %}Fine{% endtrans %}</p><p>not <b lang="en">fine</b></p>',
        '<img alt="A cat">',
        '<input placeholder="Search {{ what }}">',
        '<button aria-label="Close">×</button>',
        '<td data-label="Created">{{ day }}</td>',
        "<p>Grüße</p>",
    ],
)
def test_words_in_markup_are_found(source: str) -> None:
    assert visible.in_markup(source) != []


@pytest.mark.parametrize(
    "source",
    [
        '<p class="Big one" id="Main">{{ _("Hello") }} – Openslot</p>',
        '<p>{% trans name=name %}Hello <b title="Dear">{{ name }}</b>{% endtrans %} · 12</p>',
        '<section lang="en"><h2>Hello</h2><input placeholder="Search"></section>',
        "<code>svc_live_key</code>{# A comment #}",
    ],
)
def test_markup_without_words_of_its_own_passes(source: str) -> None:
    assert visible.in_markup(source) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('{{ "Account" if user else _("Sign in") }}', ["Account"]),
        ('{{ line(form, "email", "Email address", type="email") }}', ["Email address"]),
        ('{% set title = {404: "Page not found"} %}', ["Page not found"]),
        ('{{ line(form, "email", _("Email address"), autocomplete="current-password") }}', []),
        ('{{ ngettext("%(num)s day", "%(num)s days", 3) }}{% include "layout/App.html" %}', []),
    ],
)
def test_words_in_expressions_are_found(source: str, found: list[str]) -> None:
    assert visible.in_expressions(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('NOTICE = "Your password was changed"', ["Your password was changed"]),
        ('STATES = {"on": "Active"}', ["Active"]),
        ('def show(): return f"Expires on {day}"', ["Expires on "]),
        ('"""A docstring."""\nNOTICE = Text("Your password was changed")\nHTML = "text/html; charset=utf-8"', []),
        ('raise RuntimeError("The app was not started")', []),
    ],
)
def test_words_in_a_module_are_found(source: str, found: list[str]) -> None:
    assert visible.in_module(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('super().__init__("Key not found")', ["'Key not found'"]),
        ('super().__init__(f"At most {most}")', ["f'At most {most}'"]),
        ('super().__init__(Text("Taken"), details={"email": "is taken"})', ["'is taken'"]),
        ('super().__init__(message, details={"email": Text("is taken")}, headers={"a": "Bearer"})', []),
    ],
)
def test_words_of_a_refusal_are_found(source: str, found: list[str]) -> None:
    assert visible.in_refusals(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('raise CalendarGone("The server has gone") from None', ["'The server has gone'"]),
        ('return CalendarGone(kind, f"{host} has gone")', ["f'{host} has gone'"]),
        ('raise CalendarGone(GONE.fill(host=host))\nraise RuntimeError("The app was not started")', []),
    ],
)
def test_words_that_an_exception_is_raised_with_are_found(source: str, found: list[str]) -> None:
    assert visible.in_raised(source, frozenset({"CalendarGone"})) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('cancel(work, reason=f"{user.name} has left")', ["f'{user.name} has left'"]),
        ('reason = message or f"{user.name} has left"', ["f'{user.name} has left'"]),
        ('REASON = "Changed in the calendar"', ["'Changed in the calendar'"]),
        ('cancel(work, reason=LEFT.fill(host=user.name))\ncancel(work, reason=reason, state="Not a reason")', []),
    ],
)
def test_words_of_a_reason_are_found(source: str, found: list[str]) -> None:
    assert visible.in_reasons(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('button.textContent = "Copied";', ["Copied"]),
        ("say(`Press the button`);", ["Press the button"]),
        ('// Say "Copied" then.\nbutton.dataset.copied; select("[data-copy]"); at("Europe/Berlin");', []),
    ],
)
def test_words_in_a_script_are_found(source: str, found: list[str]) -> None:
    assert visible.in_script(source) == found
