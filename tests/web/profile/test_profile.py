"""Change name, welcome text, zone, language, link and look by their forms."""

import re

import httpx2

from openslot.accounts import operations as accounts
from openslot.accounts.models import User, UserSettings
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime
from tests.support.host import Book
from tests.support.page import read_page
from tests.web.profile.conftest import HERE, draw

ABOUT = {"name": "Mara Lindqvist", "welcome": "", "timezone": "Europe/Berlin", "locale": "en"}
LOOK = {"which": "own", "color": "#0f766e", "brand-name": "", "logo": ""}


async def mara(runtime: Runtime) -> dict[str, object]:
    """Read what is stored of the host."""
    row = await runtime.pool.fetchrow(
        "select name, username, zone, locale, welcome from users where email like 'mara%'"
    )
    assert row is not None
    return dict(row)


async def test_what_is_saved_is_shown(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    sent = {
        "name": " Mara L. ",
        "welcome": "Hello!\n\nI am in on weekdays.\n",
        "timezone": "Asia/Tokyo",
        "locale": "de",
    }
    answer = await member.post(HERE, data=sent)
    assert answer.headers["location"] == f"{HERE}?done=saved"
    assert await mara(runtime) == {
        "name": "Mara L.",
        "username": "mara",
        "zone": "Asia/Tokyo",
        "locale": "de",
        "welcome": "Hello!\n\nI am in on weekdays.",
    }
    shown = (await member.get(answer.headers["location"])).text
    assert '<html lang="de"' in shown
    assert 'value="Tokio (Japan)"' in shown
    assert "Hello!\n\nI am in on weekdays.</textarea>" in shown


async def test_the_welcome_text_is_on_the_hosts_page_with_its_lines(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    assert "welcome" not in (await member.get("/mara")).text
    await member.post(HERE, data={**ABOUT, "welcome": "Hello <b>you</b> & all\nSecond line"})

    assert 'dir="auto">Hello &lt;b&gt;you&lt;/b&gt; &amp; all\nSecond line</p>' in (await member.get("/mara")).text
    assert "Second line" in (await member.get("/mara.md")).text
    await member.post(HERE, data={**ABOUT, "welcome": "   \n "})
    assert (await mara(runtime))["welcome"] is None


FAULTS = [
    ({"name": ""}, ["name"]),
    ({"name": "x" * 201}, ["name"]),
    ({"name": "a\nb"}, ["name"]),
    ({"welcome": "x" * 1001}, ["welcome"]),
    ({"welcome": "bell\x07"}, ["welcome"]),
    ({"timezone": "Europe/Atlantis"}, ["timezone"]),
    ({"timezone": ""}, ["timezone"]),
    ({"locale": "tlh"}, ["locale"]),
    ({"name": "", "welcome": "x" * 1001, "timezone": "x", "locale": "x"}, ["name", "welcome", "timezone", "locale"]),
]


async def test_every_fault_stands_at_its_field_and_nothing_is_changed(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    before = await mara(runtime)
    for changes, fields in FAULTS:
        answer = await member.post(HERE, data={**ABOUT, "welcome": "Hello", **changes})

        assert answer.status_code == 400, (changes, fields)
        assert sorted(re.findall(r'id="fault-([a-z]+)"', answer.text)) == sorted(fields), (changes, fields)
        assert await mara(runtime) == before, (changes, fields)


async def test_a_long_text_in_any_script_is_taken(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await member.post(HERE, data={**ABOUT, "name": "محمد 李 🦊", "welcome": "你" * 1000})

    assert (await mara(runtime))["welcome"] == "你" * 1000
    assert "محمد 李 🦊" in read_page(await member.get("/mara")).headings


async def test_the_old_link_redirects_until_its_owner_switches_that_off(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    before = (await member.get(HERE)).text
    assert "reserved for you for 180 days" in before
    assert "Former links" not in before
    answer = await member.post(f"{HERE}/link", data={"username": " Mara-Lindqvist "})
    shown = (await member.get(answer.headers["location"])).text
    assert "Your link was changed." in shown
    assert "Redirects to your page. Reserved for you until 12 September 2026." in shown
    assert (await member.get("/mara")).headers["location"] == "/mara-lindqvist"
    assert (await member.get("/mara-lindqvist/30min")).status_code == 200

    for redirect, words, status in (("no", "Does not redirect.", 404), ("yes", "Redirects to your page.", 307)):
        answer = await member.post(f"{HERE}/link/former", data={"username": "mara", "redirect": redirect})
        assert words in read_page(await member.get(answer.headers["location"])).text
        assert (await member.get("/mara")).status_code == status
    assert (await member.get(f"/bookings/{booking.id}")).status_code == 200


async def test_a_former_link_is_used_again_by_its_button(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await member.post(f"{HERE}/link", data={"username": "mara-l"})
    await member.post(f"{HERE}/link/former", data={"username": "mara", "redirect": "no"})
    await member.post(f"{HERE}/link", data={"username": "mara"})

    assert (await member.get("/mara")).status_code == 200
    assert (await member.get("/mara-l")).headers["location"] == "/mara"
    assert (await mara(runtime))["username"] == "mara"


async def test_only_a_former_link_of_ones_own_can_be_switched(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_settings(work, stranger, UserSettings(username="omar-h"))
    for username in ("omar", "omar-h", "mara", "", "a\x00b", "nobody"):
        sent = {"username": username, "redirect": "no"}
        assert (await member.post(f"{HERE}/link/former", data=sent)).status_code in {400, 404}, username
    assert (await member.get("/omar")).headers["location"] == "/omar-h"
    answer = await member.post(f"{HERE}/link/former", data={"username": "omar", "redirect": "maybe"})
    assert answer.status_code == 400


WRONG_LINKS: list[tuple[str, str]] = [
    ("", "Must be 1 to 50 lower-case letters"),
    ("a b", "Must be 1 to 50 lower-case letters"),
    ("ümlaut", "Must be 1 to 50 lower-case letters"),
    ("x" * 51, "Must be 1 to 50 lower-case letters"),
    ("photos", "Is reserved"),
    ("settings", "Is reserved"),
    ("omar", "taken"),
    ("OMAR", "taken"),
]


async def test_a_link_that_can_not_be_had_is_refused(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    for username, fault in WRONG_LINKS:
        answer = await member.post(f"{HERE}/link", data={"username": username})

        assert answer.status_code == 400, (username, fault)
        assert fault in read_page(answer).faults["username"], (username, fault)
        assert read_page(answer).fields["username"].value == username, (username, fault)
        assert (await mara(runtime))["username"] == "mara", (username, fault)


async def test_the_color_is_that_of_every_page(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await member.post(f"{HERE}/look", data=LOOK)
    for page in ("/mara", "/mara/30min"):
        assert "/static/accent/0f766e.css" in (await member.get(page)).text
    shown = (await member.get(HERE)).text
    assert 'type="color" value="#0f766e"' in shown
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
    ({"logo": "http://example.com/logo.png"}, "logo"),
    ({"logo": "javascript:alert(1)"}, "logo"),
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
    sent = {**LOOK, "brand-name": "Mara's studio", "logo": "https://example.com/logo.png"}
    await member.post(f"{HERE}/look", data=sent)
    shown = (await member.get(HERE)).text

    assert "Mara&#39;s studio" in shown
    assert 'value="https://example.com/logo.png"' in shown
    row = await runtime.pool.fetchrow("select name, color, logo_url from brands")
    assert row is not None
    assert tuple(row) == ("Mara's studio", "#0f766e", "https://example.com/logo.png")


async def test_a_form_keeps_to_itself(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    await member.post(HERE, data={**ABOUT, "welcome": "Hello"})
    await member.post(f"{HERE}/look", data=LOOK)
    await member.post(f"{HERE}/link", data={"username": "lindqvist"})
    await member.post(f"{HERE}/photo", files={"photo": ("me.jpg", draw(), "image/jpeg")})

    assert await mara(runtime) == {
        "name": "Mara Lindqvist",
        "username": "lindqvist",
        "zone": "Europe/Berlin",
        "locale": "en",
        "welcome": "Hello",
    }
    assert await runtime.pool.fetchval("select color from brands") == "#0f766e"
