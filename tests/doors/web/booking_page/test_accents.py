"""A host's color is readable wherever it stands, in light and in dark."""

import re
from itertools import product

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openslot.domains.mail.rendering import DARK_PAPER, PAPER, contrast, ink_on, readable_on
from openslot.doors.web.shared.static_files import find_accent, shade
from tests.support.parts import how_many

COLORS = ("000000", "ffffff", "ffff00", "2563eb", "b45309", "15803d", "7f7f7f", "ff00ff", "00ffcc", "181a20", "f6f6f3")
TOKEN = re.compile(r"--([a-z-]+):light-dark\((#[0-9a-f]{6}),(#[0-9a-f]{6})\)")


@pytest.mark.parametrize("color", COLORS)
def test_every_color_can_be_read(color: str) -> None:
    sheet = find_accent(f"accent/{color}.css")
    assert sheet is not None
    tokens = {name: values for name, *values in TOKEN.findall(sheet.body.decode())}

    assert tokens.keys() == {"accent", "accent-deep", "accent-ink", "accent-wash"}
    for place, paper in enumerate((PAPER, DARK_PAPER)):
        accent, deep, ink, wash = (
            tokens[name][place] for name in ("accent", "accent-deep", "accent-ink", "accent-wash")
        )
        assert contrast(accent, paper) >= 4.5
        assert contrast(accent, wash) >= 4.5
        assert contrast(ink, accent) >= 4.5
        assert contrast(ink, deep) >= 4.5


async def test_a_colors_stylesheet_is_kept_for_good(client: httpx2.AsyncClient) -> None:
    sheet = find_accent("accent/15803d.css")
    assert sheet is not None
    answer = await client.get(f"/static/accent/15803d.css?v={sheet.version}")

    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    for path in ("accent/15803D.css", "accent/x.css", "accent/15803d.css/x", "accent/15803d00.css", "accent/"):
        assert (await client.get(f"/static/{path}")).status_code == 404


def check_shades(color: str) -> None:
    """Assert that a color can be read in light and in dark, wherever a page or a mail has it."""
    for paper, ground in ((PAPER, "#f6f6f3"), (DARK_PAPER, "#101217")):
        shades = shade(color, paper)
        accent, ink = shades["accent"], shades["accent-ink"]
        for behind in (paper, ground, shades["accent-wash"]):
            assert contrast(accent, behind) >= 4.5, (color, paper, behind)
        assert min(contrast(ink, accent), contrast(ink, shades["accent-deep"])) >= 4.5, (color, paper)
    ink = ink_on(color)
    assert contrast(ink, readable_on(color, ink)) >= 4.5, color


@pytest.mark.rest("tries every character or thousands of inputs")
@settings(max_examples=how_many(1000), deadline=None)
@given(st.integers(0, 0xFFFFFF))
def test_any_color_can_be_read_as_link_and_as_button(number: int) -> None:
    check_shades(f"#{number:06x}")


def test_every_grey_and_the_corners_of_every_color_can_be_read() -> None:
    for grey in range(256):
        check_shades(f"#{grey:02x}{grey:02x}{grey:02x}")
    steps = (0, 51, 102, 153, 204, 255)
    for red, green, blue in product(steps, repeat=3):
        check_shades(f"#{red:02x}{green:02x}{blue:02x}")


def test_a_color_that_can_be_read_is_not_changed() -> None:
    assert shade("#0f766e", PAPER)["accent"] == "#0f766e"
    assert shade("#ffcc00", DARK_PAPER)["accent"] == "#ffcc00"
    assert shade("#ffcc00", PAPER)["accent"] != "#ffcc00"
