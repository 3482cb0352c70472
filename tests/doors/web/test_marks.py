"""Icons, initials and colors: the sprite has what pages name, and a person or an event type keeps their color."""

import re
from uuid import UUID

import pytest

from openslot.doors.web.shared import marks
from openslot.doors.web.shared.static_files import assets, static_url
from openslot.doors.web.shared.templating import templates
from tests.support.page_templates import TEMPLATES

NAMED = re.compile(r"""\bicon\("([a-z-]+)\"""")


def test_the_sprite_has_every_icon_that_a_template_names() -> None:
    named = {name for path in TEMPLATES.rglob("*.html") for name in NAMED.findall(path.read_text())}

    assert named <= marks.ICONS


def test_an_icon_that_the_sprite_does_not_have_is_an_error() -> None:
    assert marks.icon_url("home") == f"{static_url('icons.svg')}#home"
    with pytest.raises(KeyError, match="nothing"):
        marks.icon_url("nothing")


def test_a_person_has_the_same_color_however_their_address_is_written() -> None:
    assert marks.person_color("Mara@Harbor.example ") == marks.person_color("mara@harbor.example")
    assert {marks.person_color(f"person{number}@example.com") for number in range(100)} == set(marks.COLORS)


@pytest.mark.parametrize(
    ("color", "nearest"),
    [
        ("#2563eb", "blue"),
        ("#7c3aed", "violet"),
        ("#15803d", "teal"),
        ("#b45309", "amber"),
        ("#ff0000", "rose"),
        ("#808080", "slate"),
        ("#000000", "slate"),
    ],
)
def test_an_event_type_has_the_color_nearest_to_its_own(color: str, nearest: str) -> None:
    assert marks.find_color(color) == nearest


def test_every_event_type_keeps_the_color_that_was_chosen_whatever_the_others_have() -> None:
    keys = [UUID(int=no) for no in range(4)]
    chosen = marks.read_event_colors(
        tuple(f"{key}{color}" for key, color in zip(keys, ("#2563eb", "#2563eb", "#be123c", "#1d4ed8"), strict=True))
    )

    assert [chosen[key] for key in keys] == ["blue", "blue", "rose", "blue"]


def test_every_color_that_can_be_chosen_is_shown_as_itself() -> None:
    assert [marks.find_color(color) for _, color in marks.EVENT_COLORS.values()] == list(marks.COLORS)


def test_a_new_event_type_gets_a_color_that_no_other_has() -> None:
    first_five = [color for _, color in marks.EVENT_COLORS.values()][:5]

    def pick(*colors: str) -> str:
        return marks.pick_color(tuple(f"{UUID(int=no)}{color}" for no, color in enumerate(colors)))

    assert pick() == "#2563eb"
    assert pick("#1d4ed8", "#ff0000") == "#7c3aed"
    assert pick(*first_five) == "#525f6b"
    assert pick(*first_five, "#808080") == "#2563eb"


def test_every_color_has_its_class() -> None:
    styles = assets()["dashboard.css"].body.decode()

    assert all(f".{color} {{ --e: " in styles for color in marks.COLORS)


@pytest.mark.parametrize(
    ("name", "letters"),
    [("Mara Lindqvist", "ML"), ("mara", "M"), ("Ana de la Cruz", "AC"), ("  ", ""), ("محمد علي", "مع")],
)
def test_initials_are_one_or_two_letters(name: str, letters: str) -> None:
    assert marks.initials(name) == letters


def test_an_icon_needs_no_class() -> None:
    marks_html = templates.get_template("layout/marks.html").module

    assert f'<svg class="icon" aria-hidden="true"><use href="{marks.icon_url("home")}"/>' in marks_html.icon("home")  # type: ignore[attr-defined]
    assert 'class="icon less"' in marks_html.icon("home", "less")  # type: ignore[attr-defined]


def test_a_face_is_the_photo_or_initials_that_readers_do_not_hear() -> None:
    marks_html = templates.get_template("layout/marks.html").module
    photo = marks_html.face("Mara Lindqvist", "mara@harbor.example", "0" * 32, 40)  # type: ignore[attr-defined]
    letters = marks_html.face("Mara <b>", "mara@harbor.example")  # type: ignore[attr-defined]

    assert f'src="/photos/{"0" * 32}.jpg" alt="" width="40"' in photo
    assert 'aria-hidden="true">M&lt;</span>' in letters
