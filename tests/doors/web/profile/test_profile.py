"""Change name, zone, language and link by their forms."""

import re

import httpx2

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User, UserSettings
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.profile.conftest import HERE
from tests.support.host import Book
from tests.support.page import read_page

ABOUT = {"name": "Mara Lindqvist", "timezone": "Europe/Berlin", "locale": "en"}


async def mara(runtime: Runtime) -> dict[str, object]:
    """Read what is stored of the host."""
    row = await runtime.pool.fetchrow("select name, username, zone, locale from users where email like 'mara%'")
    assert row is not None
    return dict(row)


async def test_what_is_saved_is_shown(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    sent = {
        "name": " Mara L. ",
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
    }
    shown = (await member.get(answer.headers["location"])).text
    assert '<html lang="de"' in shown
    assert 'value="Tokio (Japan)"' in shown


FAULTS = [
    ({"name": ""}, ["name"]),
    ({"name": "x" * 201}, ["name"]),
    ({"name": "a\nb"}, ["name"]),
    ({"timezone": "Europe/Atlantis"}, ["timezone"]),
    ({"timezone": ""}, ["timezone"]),
    ({"locale": "tlh"}, ["locale"]),
    ({"name": "", "timezone": "x", "locale": "x"}, ["name", "timezone", "locale"]),
]


async def test_every_fault_stands_at_its_field_and_nothing_is_changed(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    before = await mara(runtime)
    for changes, fields in FAULTS:
        answer = await member.post(HERE, data={**ABOUT, **changes})

        assert answer.status_code == 400, (changes, fields)
        assert sorted(re.findall(r'id="fault-([a-z]+)"', answer.text)) == sorted(fields), (changes, fields)
        assert await mara(runtime) == before, (changes, fields)


async def test_a_name_in_any_script_is_taken(member: httpx2.AsyncClient) -> None:
    await member.post(HERE, data={**ABOUT, "name": "محمد 李 🦊"})

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
        await accounts.change_user_settings(work, stranger, UserSettings(username="omar-h"))
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
