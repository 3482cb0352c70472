"""A host's color is readable wherever it stands, in light and in dark."""

import re

import httpx2
import pytest

from openslot.integrations.mail.rendering import DARK_PAPER, PAPER, contrast
from openslot.web.static_files import find_accent

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
