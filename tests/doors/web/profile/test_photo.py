"""A photo is taken in, made harmless and shown; what is no picture is refused at its field."""

import asyncio
import struct
import zipfile
import zlib
from io import BytesIO

import httpx2
import pytest
from PIL import Image

from openslot.domains.accounts.models import User
from openslot.domains.accounts.pictures.operations import MAX_BYTES, Picture
from openslot.domains.accounts.profiles.operations import set_user_photo
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.profile.conftest import HERE, draw, pixel
from tests.support.page import read_page

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
GPS, MAKE, ORIENTATION = 0x8825, 0x010F, 0x0112


async def upload(
    member: httpx2.AsyncClient, body: bytes, name: str = "me.jpg", kind: str = "image/jpeg"
) -> httpx2.Response:
    """Send the form."""
    return await member.post(f"{HERE}/photo", files={"photo": (name, body, kind)})


async def take(member: httpx2.AsyncClient, runtime: Runtime, body: bytes) -> httpx2.Response:
    """Upload a picture and fetch what has become of it."""
    answer = await upload(member, body)
    assert (answer.status_code, answer.headers.get("location")) == (303, f"{HERE}?done=photo"), answer.text
    photo = await runtime.pool.fetchval("select photo from users where username = 'mara'")
    return await member.get(f"/photos/{photo}.jpg")


def with_exif(**tags: object) -> bytes:
    """Write EXIF data with an orientation, a maker and a place."""
    exif = Image.Exif()
    exif[ORIENTATION] = tags.get("orientation", 1)
    exif[MAKE] = "Secret Camera"
    exif.get_ifd(GPS)[1] = "N"
    exif.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    return exif.tobytes()


def png_of(width: int, height: int) -> bytes:
    """Write a PNG that claims a size, with next to nothing in it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def vast_jpeg(width: int, height: int) -> bytes:
    """Write a small JPEG that claims another size."""
    small = draw(size=(64, 96))
    return small.replace(struct.pack(">HH", 96, 64), struct.pack(">HH", height, width), 1)


def animation(kind: str) -> bytes:
    """Write three frames."""
    frames = [Image.new("RGB", (100, 100), (shade, 0, 0)) for shade in (0, 120, 240)]
    written = BytesIO()
    frames[0].save(written, kind, save_all=True, append_images=frames[1:], duration=100)
    return written.getvalue()


def archive() -> bytes:
    """Write a ZIP file with a page in it."""
    written = BytesIO()
    with zipfile.ZipFile(written, "w") as opened:
        opened.writestr("index.html", "<script>alert('polyglot')</script>")
    return written.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_a_picture_becomes_a_square_jpeg_that_may_be_kept_for_good(
    member: httpx2.AsyncClient, runtime: Runtime, kind: str
) -> None:
    answer = await take(member, runtime, draw(kind))

    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    with Image.open(BytesIO(answer.content)) as opened:
        assert (opened.format, opened.size, opened.mode) == ("JPEG", (512, 512), "RGB")
    assert (pixel(answer.content, 40, 256), pixel(answer.content, 470, 256)) == ("red", "green")
    again = await member.get(answer.url.path, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_place_camera_and_comments_are_removed(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for kind in ("JPEG", "PNG", "WEBP"):
        answer = await take(member, runtime, draw(kind, exif=with_exif()))

        assert b"Secret Camera" not in answer.content, kind
        with Image.open(BytesIO(answer.content)) as opened:
            assert dict(opened.getexif()) == {}, kind
            assert "icc_profile" not in opened.info, kind


# What the camera says, and where the red half is then: at the top, right or bottom, or still at the left.
async def test_a_picture_is_shown_upright(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for orientation, red_at in ((1, (40, 256)), (3, (470, 256)), (6, (256, 40)), (8, (256, 470))):
        answer = await take(member, runtime, draw(exif=with_exif(orientation=orientation)))

        assert pixel(answer.content, *red_at) == "red", (orientation, red_at)
        assert pixel(answer.content, 511 - red_at[0], 511 - red_at[1]) == "green", (orientation, red_at)


@pytest.mark.parametrize("mode", ["CMYK", "L", "RGB"])
async def test_every_kind_of_color_is_taken(member: httpx2.AsyncClient, runtime: Runtime, mode: str) -> None:
    answer = await take(member, runtime, draw(mode=mode))

    if mode != "L":
        assert (pixel(answer.content, 40, 256), pixel(answer.content, 470, 256)) == ("red", "green")


async def test_every_kind_of_png_is_taken(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for mode in ("RGBA", "LA", "P", "1"):
        taken = await take(member, runtime, draw("PNG", mode=mode))

        with Image.open(BytesIO(taken.content)) as opened:
            assert (opened.format, opened.size) == ("JPEG", (512, 512)), mode


async def test_a_phones_jpeg_with_further_pictures_shows_the_first(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    body = BytesIO()
    further = Image.new("RGB", (100, 100), "blue")
    Image.new("RGB", (200, 200), "red").save(body, "MPO", save_all=True, append_images=[further])
    shown = (await take(member, runtime, body.getvalue())).content

    assert pixel(shown, 256, 256) == "red"


async def test_grey_of_16_bits_stays_grey(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    written = BytesIO()
    Image.new("I;16", (100, 100), 0x8000).save(written, "PNG")
    with Image.open(BytesIO((await take(member, runtime, written.getvalue())).content)) as opened:
        assert opened.getpixel((256, 256)) == (128, 128, 128)


async def test_transparent_parts_become_white(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    written = BytesIO()
    Image.new("RGBA", (100, 100), (255, 0, 0, 0)).save(written, "PNG")

    assert pixel((await take(member, runtime, written.getvalue())).content, 256, 256) == "white"


async def test_what_is_hidden_behind_a_picture_is_not_kept(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for body in (
        draw() + archive(),
        draw("PNG") + archive(),
        draw("PNG") + SVG,
        draw(comment=b"<script>alert(1)</script>"),
    ):
        kept = (await take(member, runtime, body)).content
        assert b"script" not in kept
        assert b"polyglot" not in kept
        assert b"PK\x03\x04" not in kept


REFUSED = {
    "nothing": (b"", "Choose a picture"),
    "text": (b"hello", "Must be a PNG, JPEG or WebP picture"),
    "svg": (SVG, "Must be a PNG, JPEG or WebP picture"),
    "html": (b"<!doctype html><script>alert(1)</script>", "Must be a PNG, JPEG or WebP picture"),
    "gif": (draw("GIF"), "Must be a PNG, JPEG or WebP picture"),
    "bmp": (draw("BMP"), "Must be a PNG, JPEG or WebP picture"),
    "tiff": (draw("TIFF"), "Must be a PNG, JPEG or WebP picture"),
    "zip": (archive(), "Must be a PNG, JPEG or WebP picture"),
    "truncated jpeg": (draw(size=(900, 900))[:-3000], "This one is damaged"),
    "truncated png": (draw("PNG", size=(900, 900))[:-300], "This one is damaged"),
    "truncated webp": (draw("WEBP", size=(900, 900))[:-300], ""),
    "head alone": (draw()[:20], ""),
    "bomb": (png_of(30_000, 30_000), "Must have at most 16 megapixels"),
    "smaller bomb": (png_of(4_000, 4_001), "Must have at most 16 megapixels"),
    "vast jpeg": (vast_jpeg(6_325, 6_325), "Must have at most 40 megapixels"),
    "lying png": (png_of(4_000, 4_000), "This one is damaged"),
    "long and thin": (png_of(60_000, 63), "Must be at least 64 pixels wide and 64 high"),
    "tiny": (draw("PNG", size=(63, 63)), "Must be at least 64 pixels wide and 64 high"),
    "moving png": (animation("PNG"), "Must be a still picture"),
    "moving webp": (animation("WEBP"), "Must be a still picture"),
    "too large": (draw() + b"\0" * MAX_BYTES, "Must be at most 5 MB"),
}


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
async def test_what_is_no_fitting_picture_is_refused_at_its_field(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for name, (body, fault) in REFUSED.items():
        # So many uploads would be refused, whatever they contain.
        await runtime.pool.execute("delete from rate_log")
        answer = await upload(member, body, name="me.png", kind="image/png")

        assert answer.status_code == 400, name
        assert read_page(answer).faults.keys() == {"photo"}, name
        assert fault.lower() in answer.text.lower(), name
        assert await runtime.pool.fetchval("select count(*) from photos") == 0, name
        assert await runtime.pool.fetchval("select photo from users where username = 'mara'") is None, name


async def test_a_file_far_too_large_is_not_even_read(member: httpx2.AsyncClient) -> None:
    reader, writer = await asyncio.open_connection(member.base_url.host, member.base_url.port)
    lines = [
        f"POST {HERE}/photo HTTP/1.1",
        "Host: localhost",
        f"Cookie: {member.headers['cookie']}",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {2 * MAX_BYTES + 1}",
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
    writer.close()
    await writer.wait_closed()


async def test_largest_allowed_file_is_taken(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    picture = draw()
    taken = await take(member, runtime, picture + b"\0" * (MAX_BYTES - len(picture)))

    assert (taken.status_code, pixel(taken.content, 40, 256)) == (200, "red")


async def test_a_new_photo_takes_the_place_of_the_one_before(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    first = await take(member, runtime, draw())
    second = await take(member, runtime, draw(size=(200, 300)))

    assert first.url != second.url
    assert (await member.get(first.url.path)).status_code == 404
    assert await runtime.pool.fetchval("select count(*) from photos") == 1


async def test_a_photo_is_shown_on_the_pages_and_in_the_dashboard(
    member: httpx2.AsyncClient, client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    path = (await take(member, runtime, draw())).url.path
    for page in ("/mara", "/mara/30min", "/settings/profile", "/", "/bookings"):
        assert f'src="{path}" alt="' in (await member.get(page)).text, page
    shown = (await member.get("/mara/30min")).text
    assert f'<img class="face" src="{path}" alt="" width="40" height="40">' in shown


async def test_removing_asks_first(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    assert (await member.get(f"{HERE}/photo/remove")).headers["location"] == HERE
    path = (await take(member, runtime, draw())).url.path
    assert "Remove your photo?" in read_page(await member.get(f"{HERE}/photo/remove")).headings
    answer = await member.post(f"{HERE}/photo/remove")
    assert read_page(await member.get(answer.headers["location"])).notices == ["Your photo was removed."]
    assert (await member.get(path)).status_code == 404
    for page in ("/mara", "/mara/30min", "/settings/profile", "/"):
        assert "/photos/" not in (await member.get(page)).text, page


NO_PHOTOS: list[str] = ["x", "../../etc/passwd", "0" * 32, f"{'0' * 32}.jpg", f"{'0' * 32}.png", "%00.jpg"]


async def test_an_address_without_a_photo_is_not_found(client: httpx2.AsyncClient) -> None:
    for name in NO_PHOTOS:
        assert (await client.get(f"/photos/{name}")).status_code == 404, name


async def test_the_photo_of_a_closed_account_is_not_served(
    client: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        name = await set_user_photo(work, stranger, Picture(draw()))
    assert (await client.get(f"/photos/{name}.jpg")).status_code == 200
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, stranger, reason=None)
    assert (await client.get(f"/photos/{name}.jpg")).status_code == 404


async def test_a_photo_of_an_account_that_is_erased_meanwhile_is_not_kept(runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("delete from event_types")
    await runtime.pool.execute("delete from schedules")
    await runtime.pool.execute("delete from users where id = $1", user.id)

    async with runtime.transaction(OPERATOR) as work:
        await set_user_photo(work, user, Picture(draw("JPEG")))

    assert await runtime.pool.fetchval("select count(*) from photos") == 0


async def test_a_photo_of_an_account_that_is_closed_meanwhile_is_not_kept(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user, reason=None)
    async with runtime.transaction(OPERATOR) as work:
        await set_user_photo(work, user, Picture(draw("JPEG")))

    assert await runtime.pool.fetchval("select count(*) from photos") == 0


async def test_uploads_are_limited(member: httpx2.AsyncClient) -> None:
    answers = [(await upload(member, b"x")).status_code for _ in range(21)]

    assert answers == [400] * 20 + [429]
