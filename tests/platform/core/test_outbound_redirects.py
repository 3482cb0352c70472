"""Each redirect of a guarded client is checked anew, and nothing secret goes along to another origin."""

from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import httpx2
import pytest

from openslot.platform.core.outbound import (
    FailureKind,
    Outbound,
    OutboundFailed,
    OutboundReason,
    OutboundRefused,
    RequestLimits,
)
from openslot.platform.core.outbound.client import MAX_REDIRECTS
from tests.support.hostile_urls import PRIVATE_ADDRESSES, SHAPES
from tests.support.peers import OK, serve
from tests.support.small_internet import HERE, HERE_ADDRESS, THERE, Site, redirect, small_internet

LOOPBACK = (ip_network("127.0.0.0/8"),)
START = f"https://{HERE}/start"


async def follow(outbound: Outbound, url: str = START, *, method: str = "GET") -> httpx2.Response:
    async with outbound.client(follow_redirects=True) as client:
        return await client.request(method, url, headers={"Authorization": "Basic c2VjcmV0", "X-Trace": "7"})


async def test_a_redirect_to_another_public_name_is_followed(tmp_path: Path) -> None:
    async with small_internet(tmp_path, here=Site(redirect(f"https://{THERE}/end"))) as (outbound, world):
        response = await follow(outbound)
        assert (response.status_code, response.content, str(response.url)) == (200, b"ok", f"https://{THERE}/end")
        assert world.looked_up == [HERE, THERE]
        assert world.there.requests[0].startswith(b"GET /end HTTP/1.1\r\nHost: there.example.org\r\n")


async def test_a_redirect_is_not_followed_unless_asked(tmp_path: Path) -> None:
    async with small_internet(tmp_path, here=Site(redirect(f"https://{THERE}/"))) as (outbound, world):
        async with outbound.client() as client:
            response = await client.get(START)
        assert (response.status_code, world.looked_up) == (302, [HERE])


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("https://127.0.0.1:8443/", OutboundReason.ADDRESS),
        ("https://[::1]/", OutboundReason.ADDRESS),
        ("//169.254.169.254/latest/meta-data/", OutboundReason.ADDRESS),
        ("https://10.0.0.1/", OutboundReason.ADDRESS),
        ("https://private.example.org/", OutboundReason.ADDRESS),
        ("https://localhost/", OutboundReason.NAME),
        ("https://2130706433/", OutboundReason.NUMBER),
        (f"http://{THERE}/", OutboundReason.INSECURE),
        (f"ftp://{THERE}/", OutboundReason.SCHEME),
        ("file:///etc/passwd", OutboundReason.SCHEME),
        (f"gopher://{THERE}/", OutboundReason.SCHEME),
        (f"https://user:secret@{THERE}/", OutboundReason.USERINFO),
        (f"https://{THERE}:6379/", OutboundReason.PORT),
    ],
)
async def test_a_redirect_is_refused_where_a_request_would_be(
    tmp_path: Path, place: str, reason: OutboundReason
) -> None:
    site = Site()
    async with small_internet(tmp_path, here=site) as (outbound, world):
        for status in (301, 302, 303, 307, 308):
            site.answers = (redirect(place, status=status),)
            with pytest.raises(OutboundRefused) as refused:
                await follow(outbound)
            assert refused.value.reason is reason
        assert world.connected == [HERE_ADDRESS] * 5


async def test_no_hostile_url_reaches_the_canary_by_redirect(tmp_path: Path) -> None:
    site = Site()
    async with small_internet(tmp_path, here=site) as (outbound, world), outbound.client() as client:
        for _, url in SHAPES:
            site.answers = (redirect(url.replace("{port}", str(world.canary.port))),)
            # Some are no URL at all and are not followed, some a path on the same host that leads back to itself.
            with suppress(OutboundRefused, OutboundFailed, httpx2.TooManyRedirects):
                assert (await client.get(START, follow_redirects=True)).status_code == 302
            with suppress(OutboundFailed):
                assert (await client.get(START)).status_code == 302
        assert set(world.connected) == {HERE_ADDRESS}


@pytest.mark.parametrize(
    "places",
    [["https:127.0.0.1/"], ["https://[::1"], ["https://a:b:c/"], ["https://\u2044/"], [f"https://{HERE}:1"] * 2],
)
async def test_a_redirect_to_what_is_no_url_is_an_answer(tmp_path: Path, places: list[str]) -> None:
    answer = redirect("\r\nLocation: ".join(places))
    async with small_internet(tmp_path, here=Site(answer)) as (outbound, _):
        assert (await follow(outbound)).status_code == 302
        assert (await outbound.send("GET", START)).status == 302


async def test_a_redirect_to_a_name_with_a_private_address_is_refused(tmp_path: Path) -> None:
    async with small_internet(tmp_path, here=Site(redirect("https://moved.example.org/"))) as (outbound, world):
        for address in PRIVATE_ADDRESSES:
            world.name("moved.example.org", [address])
            with pytest.raises(OutboundRefused) as refused:
                await follow(outbound)
            assert refused.value.reason is OutboundReason.ADDRESS
        assert set(world.connected) == {HERE_ADDRESS}


async def test_a_name_that_is_rebound_between_two_redirects_is_refused_though_its_connection_is_open(
    tmp_path: Path,
) -> None:
    async with small_internet(tmp_path, here=Site(redirect("/next"), OK)) as (outbound, world):
        world.name(HERE, [HERE_ADDRESS], ["127.0.0.1"])
        with pytest.raises(OutboundRefused):
            await follow(outbound)
        assert (world.looked_up, world.connected) == ([HERE, HERE], [HERE_ADDRESS])


@pytest.mark.parametrize(
    ("place", "carried"),
    [
        ("/elsewhere", True),
        (f"https://{HERE}/elsewhere", True),
        (f"https://{HERE}:8443/", False),
        (f"https://{THERE}/", False),
        (f"https://{HERE_ADDRESS}/", False),
    ],
)
async def test_credentials_are_carried_to_the_same_origin_only(tmp_path: Path, place: str, *, carried: bool) -> None:
    async with small_internet(tmp_path, here=Site(redirect(place), OK)) as (outbound, world):
        response = await follow(outbound)
        assert (response.status_code, len(response.history)) == (200, 1)
        first, last = [*world.here.requests, *world.there.requests]
        assert b"\r\nAuthorization: Basic c2VjcmV0\r\n" in first
        assert (b"authorization" in last.lower(), b"X-Trace" in last) == (carried, True)


async def test_a_clients_own_credentials_stay_at_home_too(tmp_path: Path) -> None:
    async with small_internet(tmp_path, here=Site(redirect(f"https://{THERE}/", status=308))) as (outbound, world):
        auth = httpx2.BasicAuth("user", "password")
        async with outbound.client(auth=auth, headers={"Accept": "text/xml"}, follow_redirects=True) as client:
            await client.put(START, content=b"body")
        assert b"\r\nAuthorization: Basic " in world.here.requests[0]
        assert b"authorization" not in world.there.requests[0].lower()
        assert b"\r\nAccept: text/xml\r\n" in world.there.requests[0]
        assert world.there.requests[0].endswith(b"\r\n\r\nbody")


@pytest.mark.parametrize(
    ("status", "method"), [(301, b"PROPFIND"), (307, b"PROPFIND"), (308, b"PROPFIND"), (302, b"GET"), (303, b"GET")]
)
async def test_a_redirect_says_whether_the_method_stays(tmp_path: Path, status: int, method: bytes) -> None:
    async with small_internet(tmp_path, here=Site(redirect(f"https://{THERE}/", status=status))) as (outbound, world):
        await follow(outbound, method="PROPFIND")
        assert world.there.requests[0].split(b" ")[0] == method


@pytest.mark.parametrize("place", ["/start", f"https://{HERE}/start", f"https://{THERE}/"])
async def test_a_loop_of_redirects_ends(tmp_path: Path, place: str) -> None:
    there = Site(redirect(START))
    async with small_internet(tmp_path, here=Site(redirect(place)), there=there) as (outbound, world):
        with pytest.raises(httpx2.TooManyRedirects):
            await follow(outbound)
        assert len(world.here.requests) + len(there.requests) == MAX_REDIRECTS + 1


async def test_one_clock_runs_for_all_redirects_together(tmp_path: Path) -> None:
    site = Site(redirect("/again"))
    site.pause = 0.15
    async with small_internet(tmp_path, here=site) as (outbound, _):
        limits = RequestLimits(within=timedelta(seconds=0.4))
        async with outbound.client(follow_redirects=True, limits=limits) as client:
            with pytest.raises(OutboundFailed, match="took too long to answer") as failed:
                await client.get(START)
        assert failed.value.kind is FailureKind.TIMEOUT
        assert len(site.requests) < MAX_REDIRECTS


async def test_the_body_of_a_redirect_is_bounded_like_any_other(tmp_path: Path) -> None:
    head = f"HTTP/1.1 302 Elsewhere\r\nLocation: https://{THERE}/\r\nContent-Length: 2001\r\n\r\n"
    async with small_internet(tmp_path, here=Site(head.encode() + b"x" * 2001)) as (outbound, world):
        async with outbound.client(follow_redirects=True, limits=RequestLimits(at_most=2000)) as client:
            with pytest.raises(OutboundFailed, match="sent more than 2000 bytes") as failed:
                await client.get(START)
        assert failed.value.kind is FailureKind.TOO_LARGE
        assert world.there.requests == []


async def test_plain_http_is_followed_within_the_allowed_networks_only() -> None:
    async with serve() as end:
        async with serve(redirect(f"http://127.0.0.1:{end.port}/")) as start:
            response = await follow(Outbound(allow=LOOPBACK), f"http://127.0.0.1:{start.port}/")
            assert (response.status_code, end.connections) == (200, 1)
            assert b"authorization" not in end.requests[0].lower()
        async with serve(redirect(f"http://[::1]:{end.port}/")) as start:
            with pytest.raises(OutboundRefused) as refused:
                await follow(Outbound(allow=LOOPBACK), f"http://127.0.0.1:{start.port}/")
            assert (refused.value.reason, end.connections) == (OutboundReason.ADDRESS, 1)
