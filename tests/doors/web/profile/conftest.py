"""A host in Berlin, signed in, and pictures of every kind."""

from io import BytesIO
from typing import Any

from PIL import Image

from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "settings", "stranger", "user"]

HERE = "/settings/profile"
RED, GREEN = (200, 20, 20), (20, 160, 40)


def draw(kind: str = "JPEG", size: tuple[int, int] = (300, 200), mode: str = "RGB", **options: Any) -> bytes:
    """Draw a picture whose left half is red and whose right half is green."""
    picture = Image.new("RGB", size, RED)
    picture.paste(GREEN, (size[0] // 2, 0, size[0], size[1]))
    written = BytesIO()
    picture.convert(mode).save(written, kind, **options)
    return written.getvalue()


def pixel(body: bytes, x: int, y: int) -> str:
    """Tell the color at a place of a picture."""
    with Image.open(BytesIO(body)) as opened:
        found = opened.convert("RGB").getpixel((x, y))
    assert isinstance(found, tuple)
    red, green, blue = found
    if min(red, green, blue) > 200:
        return "white"
    return "red" if red > green else "green"
