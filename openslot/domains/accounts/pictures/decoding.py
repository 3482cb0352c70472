"""Decode an untrusted picture and re-encode it, so that nothing but its pixels is kept."""

import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Literal

from PIL import Image, ImageOps, UnidentifiedImageError

from openslot.platform.core.errors import Invalid
from openslot.platform.i18n import Text

# A JPEG is decoded at a fraction of its size, anything else needs twelve bytes for each pixel.
# Some phones add smaller pictures behind the first one of a JPEG, which is then called MPO.
MAX_MEGAPIXELS = {"JPEG": 40, "MPO": 40, "PNG": 16, "WEBP": 16}
SIDE, LEAST_SIDE = 512, 64
LOGO, LEAST_LOGO = (480, 128), (32, 32)
COVER, LEAST_COVER = (1600, 400), (640, 160)
# Grey from 0 to 255: a logo of which nothing is darker can't be seen on white.
FAINT = 200
# Each scan of a JPEG is one more pass over the whole picture, and each part of its EXIF data copies those before it:
# 140 KB with 1,000 scans took 40 seconds. Cameras write one part, and programs about ten scans.
MAX_PARTS = 100
SCAN = re.compile(rb"\xff\xda\x00(?:\x06\x00|\x08\x01|\x0a\x02|\x0c\x03|\x0e\x04)")
EXIF = b"Exif\0\0"
FORMATS = ("PNG", "JPEG", "WEBP")
WHITE = (255, 255, 255)
# What decoders raise on a file that is wrong inside.
DAMAGED = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    MemoryError,
    OverflowError,
    TypeError,
    LookupError,
    struct.error,
    zlib.error,
)

BROKEN = Text("must be a complete picture file; this one is damaged")


def make_square(body: bytes) -> bytes:
    """Write the middle of a picture as a square JPEG without metadata, or refuse it."""
    # A JPEG is decoded at a fraction of its size where that is enough.
    with _opened(body, draft=2 * SIDE) as picture:
        return _write(ImageOps.fit(_flatten(picture), (SIDE, SIDE), Image.Resampling.LANCZOS))


def make_logo(body: bytes) -> tuple[bytes, int, int]:
    """Write a picture on white, and no larger than a page shows it, as a PNG without metadata, or refuse it."""
    with _opened(body, least=LEAST_LOGO, draft=max(LOGO)) as picture:
        logo = _flatten(picture)
    logo.thumbnail(LOGO, Image.Resampling.LANCZOS)
    darkest, _ = logo.convert("L").getextrema()
    if isinstance(darkest, tuple) or darkest > FAINT:
        raise _refuse(Text("must have parts that can be seen on white; this one is all white or very light"))
    return _write(logo, "PNG"), *logo.size


def make_cover(body: bytes) -> tuple[bytes, int, int]:
    """Write the middle of a picture as a wide JPEG without metadata, or refuse it."""
    with _opened(body, least=LEAST_COVER, draft=max(COVER)) as picture:
        return _write(ImageOps.fit(_flatten(picture), COVER, Image.Resampling.LANCZOS)), *COVER


def rewrite(body: bytes) -> tuple[bytes, int, int]:
    """Write a picture as a JPEG of the same size without metadata, or refuse it; return its width and height, too."""
    with _opened(body) as picture:
        return _write(_flatten(picture)), *picture.size


@contextmanager
def _opened(
    body: bytes, *, least: tuple[int, int] = (LEAST_SIDE, LEAST_SIDE), draft: int | None = None
) -> Iterator[Image.Image]:
    """Decode a picture, held as the camera was, and refuse one that is damaged, hostile or of another kind."""
    # Such parts would take minutes: they are counted before the picture is opened.
    if body.startswith(b"\xff\xd8") and max(len(SCAN.findall(body)), body.count(EXIF)) > MAX_PARTS:
        raise _refuse(Text("must be an ordinary JPEG; this one has too many parts"))
    try:
        # The decoder warns of each fault in a file; a hostile one would fill the log.
        with warnings.catch_warnings(action="ignore"), Image.open(BytesIO(body), formats=FORMATS) as opened:
            _check(opened, least)
            if draft is not None:
                opened.draft("RGB", (draft, draft))
            opened.load()
            ImageOps.exif_transpose(opened, in_place=True)
            yield opened
    except Image.DecompressionBombError:
        raise _refuse(_format_max(min(MAX_MEGAPIXELS.values()))) from None
    except UnidentifiedImageError:
        raise _refuse(Text("must be a PNG, JPEG or WebP picture")) from None
    except DAMAGED:
        raise _refuse(BROKEN) from None


def _check(opened: Image.Image, least: tuple[int, int]) -> None:
    """Refuse by the header, before anything is decoded."""
    width, height = opened.size
    max_ = MAX_MEGAPIXELS[opened.format or "PNG"]
    if width * height > max_ * 1_000_000:
        raise _refuse(_format_max(max_))
    # It may be turned upright later.
    if min(opened.size) < min(least) or max(opened.size) < max(least):
        raise _refuse(
            Text("must be at least %(width)s pixels wide and %(height)s high", width=least[0], height=least[1])
        )
    if opened.format != "MPO" and getattr(opened, "n_frames", 1) > 1:
        raise _refuse(Text("must be a still picture, not an animation"))


def _flatten(picture: Image.Image) -> Image.Image:
    """Put a picture with transparent parts on white, and bring every other kind of color to RGB."""
    if picture.mode.startswith("I"):
        # Grey of 16 bits would be cut off at 8.
        return picture.convert("I").point(lambda value: value * (1 / 256)).convert("L").convert("RGB")
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    layer = picture.convert("RGBA")
    ground = Image.new("RGB", layer.size, WHITE)
    ground.paste(layer, mask=layer.getchannel("A"))
    return ground


def _write(picture: Image.Image, kind: Literal["JPEG", "PNG"] = "JPEG") -> bytes:
    # A new image has no metadata that could be written along.
    clean = Image.new("RGB", picture.size)
    clean.paste(picture)
    written = BytesIO()
    # A PNG has no quality and no scans.
    clean.save(written, kind, quality=85, optimize=True, progressive=True)
    return written.getvalue()


def _format_max(megapixels: int) -> Text:
    return Text("must have at most %(max)s megapixels", max=megapixels)


def _refuse(fault: Text) -> Invalid:
    return Invalid(details={"photo": fault})
