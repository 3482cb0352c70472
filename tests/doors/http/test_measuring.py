"""The metrics are for this machine and for the token, and for nobody else, whatever a request says about itself."""

from collections.abc import AsyncIterator, Mapping

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.access.door import is_loopback
from openslot.doors.http.health import check_may_measure
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError, Unauthorized
from openslot.platform.routing import Request
from tests.support.live import connect, serving

TOKEN = "m" * 32
HERE = {"host": "127.0.0.1:8000"}
PROXIES = Networks.parse("127.0.0.1/32, ::1/128, 10.0.0.0/8")

Asking = tuple[str | None, Mapping[str, str]]

LOCAL: dict[str, Asking] = {
    "IPv4": ("127.0.0.1", HERE),
    "another loopback address": ("127.9.9.9", HERE),
    "IPv6": ("::1", {"host": "[::1]:8000"}),
    "IPv4 inside of IPv6": ("::ffff:127.0.0.1", HERE),
    "by name": ("127.0.0.1", {"host": "LocalHost:8000"}),
    "with a key of something else": ("127.0.0.1", {**HERE, "authorization": "Bearer x"}),
}
FOREIGN: dict[str, Asking] = {
    "another machine": ("192.0.2.1", HERE),
    "another machine by IPv6": ("2001:db8::1", HERE),
    "a neighbour of ::1": ("::2", HERE),
    "no peer": (None, HERE),
    "what is no address": ("localhost.evil.example", HERE),
    "forged X-Forwarded-For": ("192.0.2.1", {**HERE, "x-forwarded-for": "127.0.0.1"}),
    "a proxy here": ("127.0.0.1", {**HERE, "x-forwarded-for": "192.0.2.1"}),
    "a proxy here, forged": ("127.0.0.1", {**HERE, "x-forwarded-for": "127.0.0.1"}),
    "a proxy here, empty": ("127.0.0.1", {**HERE, "x-forwarded-for": ""}),
    "X-Forwarded-Proto alone": ("127.0.0.1", {**HERE, "x-forwarded-proto": "https"}),
    "Forwarded": ("127.0.0.1", {**HERE, "forwarded": "for=127.0.0.1"}),
    "X-Real-IP": ("127.0.0.1", {**HERE, "x-real-ip": "127.0.0.1"}),
    "Via": ("127.0.0.1", {**HERE, "via": "1.1 caddy"}),
    "a public name": ("127.0.0.1", {"host": "book.example.com"}),
    "a name that leads here": ("127.0.0.1", {"host": "127.0.0.1.evil.example"}),
    "no name": ("127.0.0.1", {}),
    "a wrong token": ("192.0.2.1", {**HERE, "authorization": f"Bearer {TOKEN}x"}),
    "half of the token": ("192.0.2.1", {**HERE, "authorization": f"Bearer {TOKEN[:16]}"}),
    "an empty token": ("192.0.2.1", {**HERE, "authorization": "Bearer "}),
    "a token beyond ASCII": ("192.0.2.1", {**HERE, "authorization": "Bearer ü"}),
    "the token by another scheme": ("192.0.2.1", {**HERE, "authorization": f"Basic {TOKEN}"}),
}


def may_measure(asking: Asking, settings: Settings) -> bool:
    peer, headers = asking
    try:
        check_may_measure(Request(method="GET", path="/metrics", headers=headers, address="", peer=peer), settings)
    except Unauthorized:
        return False
    return True


@pytest.mark.parametrize("asking", LOCAL.values(), ids=LOCAL)
@pytest.mark.parametrize("token", [None, TOKEN])
def test_programs_on_this_machine_need_no_token(asking: Asking, token: str | None) -> None:
    assert may_measure(asking, Settings(metrics_token=token))


@pytest.mark.parametrize("asking", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("token", [None, TOKEN])
def test_nobody_else_comes_in_without_it(asking: Asking, token: str | None) -> None:
    assert not may_measure(asking, Settings(metrics_token=token))


@pytest.mark.parametrize("asking", FOREIGN.values(), ids=FOREIGN)
def test_the_token_opens_from_everywhere(asking: Asking) -> None:
    peer, headers = asking
    with_token = (peer, {**headers, "authorization": f"bearer {TOKEN}"})

    assert may_measure(with_token, Settings(metrics_token=TOKEN))
    assert not may_measure(with_token, Settings())


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.1.2.3"])
def test_a_trusted_proxy_is_never_this_machine_itself(peer: str) -> None:
    assert not may_measure((peer, HERE), Settings(trusted_proxies=PROXIES))


@pytest.mark.parametrize("name", ["", "[", "[::1", "127.0.0.1:", ":", "localhost.", "0.0.0.0", "::", "x" * 10_000])
def test_odd_names_are_no_fault(name: str) -> None:
    assert is_loopback(name) in {True, False}


@pytest.mark.parametrize("token", ["short", "m" * 31, "m" * 31 + " m", "ü" * 32, "m" * 501])
def test_a_token_that_could_be_guessed_or_not_be_sent_stops_the_start(token: str) -> None:
    with pytest.raises(StartupError, match="OPENSLOT_METRICS_TOKEN is wrong"):
        load_settings(environ={"OPENSLOT_METRICS_TOKEN": token})


@pytest.fixture
async def proxied(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A service that has a proxy on its own machine, and a token."""
    chosen = replace(settings, trusted_proxies=Networks.parse("127.0.0.1/32"), metrics_token=TOKEN)
    async with serving(create_app(chosen)) as url, connect(url) as client:
        yield client


async def test_over_the_wire_this_machine_reads_and_a_forwarded_request_does_not(client: httpx2.AsyncClient) -> None:
    here = await client.get("/metrics")
    forwarded = await client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"})
    published = await client.get("/metrics/", headers={"Host": "book.example.com"})

    assert here.status_code == 200
    assert "openslot_request_seconds" in here.text
    for refused in (forwarded, published, await client.head("/metrics", headers={"Via": "1.1 caddy"})):
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["x-error-code"] == "unauthorized"
        assert "openslot_" not in refused.text


async def test_over_the_wire_a_proxy_needs_the_token(proxied: httpx2.AsyncClient) -> None:
    headers = {"X-Forwarded-For": "192.0.2.1", "Host": "book.example.com"}
    bare = [await proxied.get("/metrics"), await proxied.get("/metrics", headers=headers)]
    right = await proxied.get("/metrics", headers={**headers, "Authorization": f"Bearer {TOKEN}"})

    assert [answer.status_code for answer in bare] == [401, 401]
    assert right.status_code == 200
    assert TOKEN not in right.text


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_stays_open_to_everyone(proxied: httpx2.AsyncClient, path: str) -> None:
    assert (await proxied.get(path, headers={"X-Forwarded-For": "192.0.2.1"})).status_code in {200, 503}
