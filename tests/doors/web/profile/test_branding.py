"""Logo, cover, color, text and footer are chosen by their forms, and shown on every page of the host."""

import re
from datetime import timedelta
from email import message_from_bytes, policy
from io import BytesIO

import httpx2
import pytest
from PIL import Image

from openslot.domains.accounts.models import ImageKind, User
from openslot.domains.accounts.pictures.operations import MAX_BYTES, RewrittenPicture
from openslot.domains.accounts.profiles.operations import set_page_image
from openslot.domains.bookings.links import manage_token
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.profile.conftest import draw, pixel
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import TEN, Book
from tests.support.page import read_page
from tests.support.weights import weigh

HERE = "/settings/branding"
LOOK = {"which": "own", "color": "#0f766e", "brand-name": "", "logo-url": ""}
SIZES = {"logo": (300, 100), "cover": (1000, 500)}
TYPES = {"logo": "image/png", "cover": "image/jpeg"}
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


async def upload(member: httpx2.AsyncClient, kind: str, body: bytes) -> httpx2.Response:
    return await member.post(f"{HERE}/{kind}", files={kind: ("x.png", body, "image/png")})


async def take(member: httpx2.AsyncClient, runtime: Runtime, kind: str, body: bytes) -> httpx2.Response:
    """Upload a picture and fetch what has become of it."""
    answer = await upload(member, kind, body)
    assert (answer.status_code, answer.headers.get("location")) == (303, f"{HERE}?done={kind}"), answer.text
    name = await runtime.pool.fetchval("select hash from brand_images where kind = $1", kind)
    return await member.get(f"/photos/{name}.{'png' if kind == 'logo' else 'jpg'}")


def open_picture(answer: httpx2.Response) -> Image.Image:
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    return Image.open(BytesIO(answer.content))


def transparent(ink: tuple[int, int, int], size: tuple[int, int] = (400, 100)) -> bytes:
    """Draw a block of ink in the middle of nothing."""
    picture = Image.new("RGBA", size, (0, 0, 0, 0))
    picture.paste((*ink, 255), (size[0] // 4, 0, size[0] // 2, size[1]))
    written = BytesIO()
    picture.save(written, "PNG")
    return written.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_a_logo_becomes_a_png_no_larger_than_it_is_shown(
    member: httpx2.AsyncClient, runtime: Runtime, kind: str
) -> None:
    answer = await take(member, runtime, "logo", draw(kind, size=(1200, 300)))

    assert answer.headers["content-type"] == "image/png"
    with open_picture(answer) as opened:
        assert (opened.format, opened.size, opened.mode, opened.info) == ("PNG", (480, 120), "RGB", {})
    assert (pixel(answer.content, 10, 60), pixel(answer.content, 470, 60)) == ("red", "green")
    small = await take(member, runtime, "logo", draw(kind, size=(100, 40)))
    with open_picture(small) as opened:
        assert opened.size == (100, 40)


async def test_a_logo_lies_on_white_and_is_refused_where_it_could_not_be_seen(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    dark = (await take(member, runtime, "logo", transparent((10, 20, 30)))).content
    assert pixel(dark, 5, 50) == "white"
    with Image.open(BytesIO(dark)) as opened:
        assert opened.getpixel((150, 50)) == (10, 20, 30)
    for ink in ((255, 255, 255), (230, 240, 255)):
        answer = await upload(member, "logo", transparent(ink))
        assert answer.status_code == 400
        assert "seen on white" in read_page(answer).faults["logo"]


async def test_a_cover_is_a_jpeg_four_times_as_wide_as_high(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for size in ((1000, 500), (2400, 300), (700, 900)):
        answer = await take(member, runtime, "cover", draw("PNG", size=size))
        assert answer.headers["content-type"] == "image/jpeg"
        with open_picture(answer) as opened:
            assert (opened.format, opened.size) == ("JPEG", (1600, 400)), size
            assert dict(opened.getexif()) == {}, size
        assert (pixel(answer.content, 40, 200), pixel(answer.content, 1560, 200)) == ("red", "green"), size


async def test_nothing_of_the_file_but_its_pixels_is_kept(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    exif = Image.Exif()
    exif[0x010F] = "Secret Camera"
    for kind, size in SIZES.items():
        for body in (draw("JPEG", size=size, exif=exif.tobytes()), draw("PNG", size=size) + SVG):
            kept = (await take(member, runtime, kind, body)).content
            assert b"Secret" not in kept, kind
            assert b"script" not in kept, kind


REFUSED = {
    "nothing": (b"", "Choose a picture"),
    "svg": (SVG, "Must be a PNG, JPEG or WebP picture"),
    "html": (b"<!doctype html><script>alert(1)</script>", "Must be a PNG, JPEG or WebP picture"),
    "gif": (draw("GIF", size=(1000, 500)), "Must be a PNG, JPEG or WebP picture"),
    "truncated": (draw("PNG", size=(1000, 500))[:-300], "This one is damaged"),
    "tiny": (draw("PNG", size=(31, 31)), "pixels wide and"),
    "bomb": (draw("PNG", size=(4_000, 4_001)), "Must have at most 16 megapixels"),
    "too large": (draw(size=(1000, 500)) + b"\0" * MAX_BYTES, "Must be at most 5 MB"),
}


@pytest.mark.parametrize("kind", SIZES)
async def test_what_is_no_fitting_picture_is_refused_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, kind: str
) -> None:
    for name, (body, fault) in REFUSED.items():
        await runtime.pool.execute("delete from rate_log")
        answer = await upload(member, kind, body)

        assert answer.status_code == 400, name
        assert read_page(answer).faults.keys() == {kind}, name
        assert fault.lower() in read_page(answer).faults[kind].lower(), name
    assert await runtime.pool.fetchval("select count(*) from brand_images") == 0


async def test_uploads_share_the_limit_of_photos(member: httpx2.AsyncClient) -> None:
    answers = [(await upload(member, kind, b"x")).status_code for kind in ("logo", "cover") * 10]
    assert answers == [400] * 20
    assert (await upload(member, "logo", b"x")).status_code == 429


async def test_a_picture_is_served_as_what_it_is_alone(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for kind, size in SIZES.items():
        taken = await take(member, runtime, kind, draw("PNG", size=size))
        assert taken.headers["content-type"] == TYPES[kind], kind
        assert taken.headers["x-content-type-options"] == "nosniff", kind
        assert "default-src 'none'" in taken.headers["content-security-policy"], kind
        path = taken.url.path
        other = path.replace(".png", ".jpg") if kind == "logo" else path.replace(".jpg", ".png")
        assert (await member.get(other)).status_code == 404, kind
        assert (await member.get(path.replace(".", "x."))).status_code == 404, kind


async def test_pictures_of_closed_accounts_are_neither_served_nor_kept(
    client: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    picture = RewrittenPicture(draw("PNG"), 300, 200)
    async with runtime.transaction(OPERATOR) as work:
        await set_page_image(work, stranger, ImageKind.LOGO, picture)
    name = await runtime.pool.fetchval("select hash from brand_images")
    assert (await client.get(f"/photos/{name}.png")).status_code == 200
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, stranger, reason=None)
        await set_page_image(work, stranger, ImageKind.COVER, picture)
    assert (await client.get(f"/photos/{name}.png")).status_code == 404
    assert await runtime.pool.fetchval("select array_agg(kind) from brand_images") == ["logo"]


async def test_removing_asks_first_and_takes_the_picture_from_every_page(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    for kind, size in SIZES.items():
        assert (await member.get(f"{HERE}/{kind}/remove")).headers["location"] == HERE
        path = (await take(member, runtime, kind, draw("PNG", size=size))).url.path
        assert path in (await member.get(f"{HERE}/{kind}/remove")).text
        for page in ("/mara", "/mara/30min", HERE):
            assert f'src="{path}"' in (await member.get(page)).text, page
        answer = await member.post(f"{HERE}/{kind}/remove")
        assert "was removed" in read_page(await member.get(answer.headers["location"])).notices[0]
        assert (await member.get(path)).status_code == 404
        for page in ("/mara", "/mara/30min", HERE):
            assert "/photos/" not in (await member.get(page)).text, page


async def test_every_page_of_a_host_has_the_logo_color_and_footer(
    member: httpx2.AsyncClient, client: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    manage = f"/manage/{manage_token(runtime, (await book()).id)}"
    pages = ("/mara", "/mara/30min", manage, f"{manage}/reschedule", f"{manage}/cancel")
    for page in pages:
        shown = (await client.get(page)).text
        assert "Powered by Openslot</footer>" in shown, page
        assert "brand.css" not in shown, page
    logo = (await take(member, runtime, "logo", draw("PNG", size=(300, 100)))).url.path
    cover = (await take(member, runtime, "cover", draw("PNG", size=(1000, 500)))).url.path
    await member.post(f"{HERE}/look", data=LOOK)
    await member.post(f"{HERE}/page", data={"welcome": ""})

    for page in pages:
        shown = (await client.get(page)).text
        assert f'<img class="logo" src="{logo}" alt="" width="150" height="50">' in shown, page
        assert "/static/accent/0f766e.css" in shown, page
        assert "<footer" not in shown, page
        assert "style=" not in shown, page
        has_cover = f'src="{cover}" alt="" width="1600" height="400" loading="lazy">' in shown
        assert has_cover is (page in pages[:2]), page
    widget = (await client.get("/mara/30min?embed=1")).text
    assert (logo in widget, cover in widget, "<footer" in widget) == (True, False, False)
    event_type = await runtime.pool.fetchval("select id from event_types")
    assert "This is a preview." in (await member.get(f"/event-types/{event_type}/preview")).text
    await member.post(f"{HERE}/page", data={"welcome": "", "footer": "on"})
    assert "Powered by Openslot</footer>" in (await client.get("/mara")).text


async def test_a_page_without_branding_weighs_no_more_and_a_branded_one_what_it_uses(
    member: httpx2.AsyncClient, client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    plain = await weigh(client, "/mara/30min")
    pictures = [await take(member, runtime, kind, draw("PNG", size=size)) for kind, size in SIZES.items()]
    branded = await weigh(client, "/mara/30min")
    added = branded.unpacked - plain.unpacked - sum(len(each.content) for each in pictures)
    assert 0 < added < 2_000


async def test_mail_has_the_uploaded_logo_with_its_size(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book, clock: MovingClock
) -> None:
    await member.post(f"{HERE}/look", data={**LOOK, "color": "#777777", "logo-url": "https://example.com/logo.png"})
    path = (await take(member, runtime, "logo", draw("PNG", size=(600, 300)))).url.path
    await book()
    await work_off(runtime, clock)

    html = await read_mail(runtime, "invitee")
    url = f"{runtime.settings.public_url}{path}"
    assert f'<img src="{url}" alt="Mara Lindqvist" width="64" height="32" style="display:block;height:32px;' in html
    assert "example.com/logo.png" not in html
    # White on #777777 has a contrast of 4.48.
    assert "background:#777777" not in html
    assert "border-top:4px solid #777777" in html

    await member.post(f"{HERE}/logo/remove")
    await book(TEN + timedelta(days=1))
    await work_off(runtime, clock)
    assert '<img src="https://example.com/logo.png" alt="Mara Lindqvist" height="32"' in await read_mail(
        runtime, "invitee"
    )


async def read_mail(runtime: Runtime, role: str) -> str:
    """Read the newest mail to somebody as HTML."""
    row = await runtime.pool.fetchrow(
        "select id, content from mail_messages where role = $1 order by created_at desc, id desc limit 1", role
    )
    assert row is not None
    content = runtime.cipher.open("mail", row["content"], owner=row["id"].bytes)
    body = message_from_bytes(content, policy=policy.default).get_body(("html",))
    assert body is not None
    return str(body.get_content())


async def test_the_text_is_on_the_hosts_page_as_markdown(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    assert 'class="text"' not in (await member.get("/mara")).text
    text = "Hello <b>you</b> & all\r\nSecond **line**\r\n\r\n- [site](https://a.example)"
    answer = await member.post(f"{HERE}/page", data={"welcome": text, "footer": "on"})
    assert answer.headers["location"] == f"{HERE}?done=page"

    shown = (await member.get("/mara")).text
    assert '<p dir="auto">Hello &lt;b&gt;you&lt;/b&gt; &amp; all<br>Second <strong>line</strong></p>' in shown
    assert '<a href="https://a.example" rel="nofollow noopener" target="_blank">site</a>' in shown
    assert "> Second \\*\\*line" in (await member.get("/mara.md")).text
    assert "Second **line**" in read_page(await member.get(HERE)).fields["welcome"].value
    await member.post(f"{HERE}/page", data={"welcome": "   \n ", "footer": "on"})
    assert await runtime.pool.fetchval("select welcome from users where username = 'mara'") is None


WRONG_TEXTS = [
    ("x" * 2001, "at most 2000 characters"),
    ("bell\x07", "not allowed"),
    ("[x](javascript:alert(1))", "https:// or mailto:"),
    ("[x](http://a.example)", "not http://a.example"),
]


async def test_a_wrong_text_is_refused_with_what_was_typed_and_the_footer_stays(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    for text, fault in WRONG_TEXTS:
        answer = await member.post(f"{HERE}/page", data={"welcome": text})
        assert answer.status_code == 400, text
        shown = read_page(answer)
        assert fault in shown.faults["welcome"], text
        assert not shown.fields["footer"].checked, text
        row = await runtime.pool.fetchrow("select welcome, shows_footer from users where username = 'mara'")
        assert row is not None
        assert dict(row) == {"welcome": None, "shows_footer": True}, text
    assert (await member.post(f"{HERE}/page", data={"welcome": "你" * 2000})).status_code == 303


async def test_the_color_is_that_of_every_page(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await member.post(f"{HERE}/look", data=LOOK)
    for page in ("/mara", "/mara/30min"):
        assert "/static/accent/0f766e.css" in (await member.get(page)).text
    shown = (await member.get(HERE)).text
    assert read_page(await member.get(HERE)).fields["color"].value == "#0f766e"
    assert re.search(r'type="color"[^>]* value="#0f766e"', shown)
    await runtime.pool.execute("update event_types set active = false")
    assert "/static/accent/0f766e.css" in (await member.get("/mara")).text

    await member.post(f"{HERE}/look", data={**LOOK, "which": "event_types"})
    assert await runtime.pool.fetchval("select count(*) from brands") == 0
    assert "/static/accent/0f766e.css" not in (await member.get("/mara/30min")).text


async def test_a_color_that_is_hard_to_read_is_shown_darker_on_light_paper(member: httpx2.AsyncClient) -> None:
    await member.post(f"{HERE}/look", data={**LOOK, "color": "#ffff00"})
    shown = (await member.get(HERE)).text
    fills = re.findall(r'fill="(#[0-9a-f]{6})" data-fill="accent"', shown)
    tokens = (await member.get("/static/accent/ffff00.css")).text

    assert fills[0] != "#ffff00"
    assert f"--accent:light-dark({fills[0]},{fills[1]})" in tokens


WRONG_LOOKS: list[tuple[dict[str, str], str]] = [
    ({"color": "red"}, "color"),
    ({"color": "#12345"}, "color"),
    ({"color": '#fff"><xss-probe>'}, "color"),
    ({"brand-name": "x" * 101}, "brand-name"),
    ({"logo-url": "http://example.com/logo.png"}, "logo-url"),
    ({"logo-url": "javascript:alert(1)"}, "logo-url"),
]


async def test_a_wrong_look_is_refused_at_its_field(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for changes, field in WRONG_LOOKS:
        answer = await member.post(f"{HERE}/look", data={**LOOK, **changes})

        assert answer.status_code == 400, (changes, field)
        assert re.findall(r'id="fault-([a-z-]+)"', answer.text) == [field], (changes, field)
        assert "<xss-probe" not in answer.text, (changes, field)
        assert await runtime.pool.fetchval("select count(*) from brands") == 0, (changes, field)


async def test_name_and_logo_of_mail_are_kept_when_the_color_changes(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    sent = {**LOOK, "brand-name": "Mara's studio", "logo-url": "https://example.com/logo.png"}
    await member.post(f"{HERE}/look", data=sent)
    shown = (await member.get(HERE)).text

    assert "Mara&#39;s studio" in shown
    assert 'value="https://example.com/logo.png"' in shown
    row = await runtime.pool.fetchrow("select name, color, logo_url from brands")
    assert row is not None
    assert tuple(row) == ("Mara's studio", "#0f766e", "https://example.com/logo.png")


async def test_without_scripts_the_field_that_was_changed_counts(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    # What the fields show first, what is typed, what is picked, what is saved.
    for typed, picked, saved in (
        ("#3155d9", "#b45309", "#b45309"),
        ("#0F766E", "#b45309", "#0f766e"),
        ("#0f766e", "#0f766e", "#0f766e"),
        ("#15803d", "#b45309", "#15803d"),
    ):
        sent = {**LOOK, "color": typed, "picker": picked}
        assert (await member.post(f"{HERE}/look", data=sent)).status_code == 303
        assert await runtime.pool.fetchval("select color from brands") == saved, (typed, picked)
