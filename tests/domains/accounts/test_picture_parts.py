"""Small files that would take minutes to decode, or fill the log, do neither."""

import asyncio
import struct
import warnings
from io import BytesIO

import pytest
from PIL import Image

from openslot.domains.accounts.pictures import operations as pictures
from openslot.domains.accounts.pictures.decoding import MAX_PARTS, make_square
from openslot.platform.core.errors import Invalid, Unavailable


def segment(marker: int, body: bytes) -> bytes:
    """Write one part of a JPEG."""
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def jpeg_with_scans(scans: int) -> bytes:
    """Write a grey, progressive JPEG of 64 by 64 pixels whose scans say that there is nothing to see."""
    head = segment(0xDB, b"\0" + b"\1" * 64) + segment(0xC2, struct.pack(">BHHB", 8, 64, 64, 1) + b"\1\x11\0")
    codes = segment(0xC4, b"\x00\1" + b"\0" * 16) + segment(0xC4, b"\x10\1\1" + b"\0" * 14 + b"\xe0\x00")
    first = segment(0xDA, b"\1\1\0\0\0\0") + b"\0" * 8
    further = segment(0xDA, b"\1\1\0\1\x3f\0") + b"\x7f\xff\0"
    return b"\xff\xd8" + head + codes + first + further * (scans - 1) + b"\xff\xd9"


def jpeg_with(parts: bytes) -> bytes:
    """Write a small JPEG with more parts at its beginning."""
    written = BytesIO()
    Image.new("RGB", (64, 64), "red").save(written, "JPEG")
    return written.getvalue()[:2] + parts + written.getvalue()[2:]


def exif_of(tags: int, *, size: int) -> bytes:
    """Write EXIF data whose values all claim the same bytes."""
    entries = b"".join(struct.pack(">HHII", 0x0200 + no, 7, size, 8) for no in range(tags))
    return b"MM\0*" + struct.pack(">IH", 8, tags) + entries + b"\0" * 4


def test_a_jpeg_with_more_scans_than_programs_write_is_refused_before_it_is_decoded() -> None:
    assert make_square(jpeg_with_scans(MAX_PARTS)).startswith(b"\xff\xd8")
    with pytest.raises(Invalid) as refused:
        make_square(jpeg_with_scans(MAX_PARTS + 1))

    assert refused.value.faults == {"photo": "must be an ordinary JPEG; this one has too many parts"}


def test_a_jpeg_with_exif_data_in_more_parts_than_cameras_write_is_refused() -> None:
    part = segment(0xE1, b"Exif\0\0" + b"x" * 10)
    assert make_square(jpeg_with(part * MAX_PARTS)).startswith(b"\xff\xd8")
    with pytest.raises(Invalid) as refused:
        make_square(jpeg_with(part * (MAX_PARTS + 1)))

    assert refused.value.faults == {"photo": "must be an ordinary JPEG; this one has too many parts"}


def test_bytes_behind_a_picture_are_not_taken_for_scans() -> None:
    """Some phones put a film behind a photo."""
    assert make_square(jpeg_with(b"") + b"\xff\xda\x12" * 10 * MAX_PARTS).startswith(b"\xff\xd8")


def test_wrong_exif_data_does_not_fill_the_log() -> None:
    body = jpeg_with(segment(0xE1, b"Exif\0\0" + exif_of(100, size=500)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert make_square(body).startswith(b"\xff\xd8")

    assert said == []


async def test_of_many_pictures_at_once_those_beyond_the_places_are_refused() -> None:
    wanted = pictures.AT_ONCE + pictures.WAITING
    results = await asyncio.gather(
        *(pictures.prepare_picture(jpeg_with(b"")) for _ in range(wanted + 2)), return_exceptions=True
    )

    assert [type(each) for each in results] == [pictures.Picture] * wanted + [Unavailable] * 2
    assert await pictures.prepare_picture(jpeg_with(b"")) == results[0]
