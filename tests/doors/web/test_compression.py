"""Answers are sent compressed where they are the same for everyone, and never where they could carry a secret."""

import gzip
import re

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.doors.http.compression import accepts_gzip
from openslot.doors.web.shared.static_files import assets, static_url
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.http.routes import OPERATIONS
from tests.support.founding import add_event_type, found_team

ID = "018f0000-0000-7000-8000-000000000000"
TOKEN = re.compile(r'name="csrf" value="[^"]')
# What is kept is compressed for everyone; no page of these has a form.
KEPT = {"/static/{path}", "/widget.js", "/api/docs", "/api/openapi.json", "/help/palette"}
# Compressed for visitors who are not signed in.
PUBLIC = {
    "/login",
    "/widget-demo",
    "/llms.txt",
    "/{username}",
    "/{username}/{slug}",
    "/{username}/{slug}/qr",
    "/team/{team}/{slug}/qr",
    "/team/{team}",
    "/team/{team}/{slug}",
}
# No session is looked up for these.
NO_SESSION = ["/help/save-bar", "/help/zones", "/llms.txt"]
HEADERS = (
    ("gzip", True),
    ("gzip, deflate, br, zstd", True),
    ("GZip;Q=0.5", True),
    ("x-gzip", True),
    ("*", True),
    ("br;q=1.0, *;q=0.1", True),
    ("gzip;q=0.001", True),
    (" gzip ; q=1 ", True),
    ("deflate, nonsense;q=x, gzip", True),
    ("identity;q=0, gzip", True),
    ("", False),
    ("identity", False),
    ("br", False),
    ("gzip;q=0", False),
    ("gzip;q=0.000", False),
    ("*;q=0", False),
    ("gzip;q=0, *", False),
    ("identity, gzip;q=0.5", False),
    ("gzip;q=2", False),
    ("gzip;q=-1", False),
    ("gzip;q=nan", False),
    ("gzip;q=", False),
    ("gzip;q=1;q=0", False),
    ("gzipped", False),
    ("gzip br", False),
    ("\x00gzip", False),
    ("a," * 499 + "gzip", False),
    ("gzip," * 100_000, False),
)


@pytest.mark.parametrize(("header", "is_accepted"), HEADERS)
def test_gzip_is_sent_to_those_who_take_it(header: str, is_accepted: bool) -> None:
    assert accepts_gzip({"accept-encoding": header}) is is_accepted
    assert not accepts_gzip({})


async def ask(client: httpx2.AsyncClient, path: str, encoding: str = "gzip", **headers: str) -> httpx2.Response:
    """Ask for a page without reading its body, so that lengths are those on the wire."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.get(path, headers={"accept-encoding": encoding, **named})


async def test_a_file_has_two_forms_with_a_tag_each(client: httpx2.AsyncClient) -> None:
    plain, packed = await ask(client, "/static/openslot.css", "identity"), await ask(client, "/static/openslot.css")

    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    assert plain.headers["etag"] != packed.headers["etag"]
    assert plain.content == packed.content == assets()["openslot.css"].body
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) == len(plain.content)
    for encoding, own, other in (("gzip", packed, plain), ("identity", plain, packed)):
        known = await ask(client, "/static/openslot.css", encoding, if_none_match=own.headers["etag"])
        unknown = await ask(client, "/static/openslot.css", encoding, if_none_match=other.headers["etag"])

        assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", own.headers["etag"])
        assert (known.headers["vary"], "content-length" in known.headers) == ("accept-encoding", False)
        assert unknown.status_code == 200


async def test_head_and_ranges_get_the_length_of_the_whole_file(client: httpx2.AsyncClient) -> None:
    whole = await ask(client, "/static/openslot.css")
    head = await client.head("/static/openslot.css", headers={"accept-encoding": "gzip"})
    part = await ask(client, "/static/openslot.css", range="bytes=0-10")

    assert (head.content, head.headers["content-encoding"]) == (b"", "gzip")
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert (part.status_code, part.content) == (200, whole.content)


def test_every_file_that_is_kept_compressed_is_itself_again() -> None:
    packed = {path: asset for path, asset in assets().items() if asset.packed}

    assert all(gzip.decompress(asset.packed or b"") == asset.body for asset in packed.values())
    assert {path for path in assets() if path.endswith("css") and path not in packed} <= _small()
    assert not any(path.endswith("png") for path in packed)


def _small() -> set[str]:
    return {path for path, asset in assets().items() if len(asset.body) < 1000}


async def test_documents_are_small_on_the_wire(client: httpx2.AsyncClient) -> None:
    for path, most in (("/api/docs", 40_000), ("/api/openapi.json", 40_000), ("/widget.js", 5_000)):
        answer = await ask(client, path)

        assert answer.headers["content-encoding"] == "gzip", path
        assert int(answer.headers["content-length"]) < most, path


def test_only_these_answer_everyone_alike() -> None:
    assert {one.path for one in OPERATIONS if one.handler.declaration.is_public} == PUBLIC


async def test_a_page_is_compressed_for_a_visitor_and_plain_for_somebody_with_a_session(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await offer(runtime, user, "intro-call")
    path = f"/{user.username}/intro-call"
    signed_in = await ask(member, path)
    member.cookies.clear()
    visitor, plain = await ask(member, path), await ask(member, path, "identity")

    assert "content-encoding" not in signed_in.headers
    assert visitor.headers["content-encoding"] == "gzip"
    assert visitor.headers["vary"] == plain.headers["vary"] == "accept, accept-language, accept-encoding"
    assert visitor.text == plain.text
    assert int(visitor.headers["content-length"]) < len(plain.content) / 3


@pytest.mark.rest("opens every page or sends every form")
async def test_no_answer_with_a_secret_is_compressed(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update users set is_admin = true where id = $1", user.id)
    await offer(runtime, user, "intro-call")
    await add_event_type(runtime, await found_team(runtime), slug="intro-call")
    paths = [_fill(one.path, user) for one in OPERATIONS if one.method == "GET" and one.path not in KEPT]
    answers = {path: await ask(member, path) for path in paths}
    with_token = [path for path, answer in answers.items() if TOKEN.search(answer.text)]
    member.cookies.clear()
    visits = {path: await ask(member, path) for path in paths}

    assert len(with_token) > 40
    assert [path for path, answer in answers.items() if "content-encoding" in answer.headers] == NO_SESSION
    packed = {path for path, answer in visits.items() if "content-encoding" in answer.headers}
    assert packed == {_fill(path, user) for path in PUBLIC} | {*NO_SESSION}
    assert not [path for path in packed if TOKEN.search(visits[path].text) or "set-cookie" in visits[path].headers]


def _fill(path: str, user: User) -> str:
    filled = path.replace("{username}", user.username or "").replace("{slug}", "intro-call").replace("{team}", "sales")
    return re.sub(r"\{[^}]+\}", ID, filled)


async def test_a_form_that_was_sent_is_answered_plainly(client: httpx2.AsyncClient) -> None:
    answer = await client.post(
        "/login", data={"email": "nobody@example.com" * 100}, headers={"accept-encoding": "gzip"}
    )

    assert len(answer.content) > 1000
    assert "content-encoding" not in answer.headers


async def test_an_address_that_names_the_content_serves_both_forms(client: httpx2.AsyncClient) -> None:
    for encoding in ("gzip", "identity"):
        answer = await ask(client, static_url("openslot.css"), encoding)

        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
