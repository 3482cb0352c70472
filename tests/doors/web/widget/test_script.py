"""The widget's script: small, loadable by every site, and renewed within the hour."""

import gzip

import httpx2

from openslot.doors.web.widget import get_script
from openslot.platform.i18n.languages import LANGUAGES

MAX_BYTES = 3000


def test_the_script_is_small() -> None:
    assert len(gzip.compress(get_script().body, mtime=0)) <= MAX_BYTES


def test_the_script_has_its_texts_in_every_language() -> None:
    script = get_script().body.decode()

    assert all(f'"{tag}":[' in script for tag in LANGUAGES)
    assert '"de":["Termin buchen","Schließen"]' in script


def test_comments_are_not_sent() -> None:
    assert not [line for line in get_script().body.decode().splitlines() if line.startswith((" ", "//"))]


async def test_every_site_may_load_the_script(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/widget.js", headers={"origin": "https://site.example"})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.content == get_script().body
    assert "set-cookie" not in answer.headers


async def test_the_script_is_cached_for_an_hour_and_then_checked(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/widget.js")
    again = await client.get("/widget.js", headers={"if-none-match": answer.headers["etag"]})
    named = await client.get(f"/widget.js?v={get_script().version}")
    old = await client.get("/widget.js?v=old")

    assert answer.headers["cache-control"] == old.headers["cache-control"]
    assert answer.headers["cache-control"].startswith("public, max-age=3600,")
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cross-origin-resource-policy"] == "cross-origin"
    assert named.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_nothing_but_the_script_is_for_every_site(client: httpx2.AsyncClient) -> None:
    for path in ("/static/openslot.css", "/favicon.ico", "/login"):
        headers = (await client.get(path)).headers

        assert "access-control-allow-origin" not in headers
        assert "cross-origin-resource-policy" not in headers
