"""Static files: the right type, kept for good by content, and nothing besides them."""

import httpx2
import pytest

from openslot.doors.web.shared.static_files import assets, static_url
from openslot.platform.core.work import Runtime

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
NOT_OURS = (
    "nothing.css",
    "../pages.py",
    "..%2fpages.py",
    "%2e%2e/pages.py",
    "..%5cpages.py",
    "%00",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "openslot.css%00.js",
    "%ff",
    "",
)


async def test_a_file_is_kept_for_good_when_its_address_names_its_content(client: httpx2.AsyncClient) -> None:
    for path in assets():
        named, plain = await client.get(static_url(path)), await client.get(f"/static/{path}")

        assert named.status_code == plain.status_code == 200
        assert named.headers["content-type"] == TYPES[path.rpartition(".")[2]]
        assert named.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert plain.headers["cache-control"] == "public, no-cache"
        assert named.headers["x-content-type-options"] == "nosniff"


async def test_a_copy_that_is_still_good_is_not_sent_again(client: httpx2.AsyncClient) -> None:
    etag = (await client.get("/static/openslot.css")).headers["etag"]
    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await client.get("/static/openslot.css", headers={"if-none-match": given})

        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert "content-length" not in again.headers


async def test_an_old_copy_is_replaced(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/static/openslot.css?v=old", headers={"if-none-match": '"old"'})

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, no-cache"


async def test_nothing_else_is_served(client: httpx2.AsyncClient) -> None:
    for path in NOT_OURS:
        assert (await client.get(f"/static/{path}")).status_code == 404, path


async def test_the_icon_and_the_crawlers_page_are_there(client: httpx2.AsyncClient) -> None:
    icon, robots = await client.get("/favicon.ico"), await client.get("/robots.txt")

    assert icon.headers["content-type"] == "image/svg+xml"
    assert "Disallow: /account" in robots.text


@pytest.mark.own_database
async def test_no_session_is_looked_up_for_a_file(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    await runtime.pool.execute("alter table sessions rename to elsewhere")
    cookie = {"cookie": "openslot_session=something"}

    assert (await client.get("/static/openslot.css", headers=cookie)).status_code == 200
    assert (await client.get("/login", headers=cookie)).status_code == 500
