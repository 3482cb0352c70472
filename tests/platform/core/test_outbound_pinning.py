"""One look-up, every address checked, and the connection goes to a checked address under the name's own identity."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from openslot.platform.core.outbound import FailureKind, Outbound, OutboundFailed, OutboundReason, OutboundRefused
from openslot.platform.core.outbound.resolver import SystemResolver
from tests.support.peers import NAME, OK, PUBLIC, PUBLIC_V6, Identity, Internet, Names, serve
from tests.support.ports import held_port

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return Identity(tmp_path)


@asynccontextmanager
async def world(identity: Identity, names: Names, *, trusted: bool = True) -> AsyncIterator[tuple[Outbound, Internet]]:
    async with serve() as canary, serve(tls=identity.server) as public:
        internet = Internet(canary=canary, public=public, names=names)
        outbound = Outbound(resolver=names, connector=internet, tls=identity.client if trusted else None)
        yield outbound, internet
        await outbound.close()


def counted(internet: Internet) -> tuple[int, int]:
    assert internet.public is not None
    return internet.public.connections, internet.canary.connections


async def test_the_call_goes_to_the_address_that_was_checked_under_the_name_that_was_given(identity: Identity) -> None:
    names = Names([PUBLIC])
    async with world(identity, names) as (outbound, internet):
        answer = await outbound.send("POST", f"https://{NAME}:8443/in", body=b"{}")
        assert (answer.status, answer.body) == (200, b"ok")
        assert internet.asked == [PUBLIC]
        assert names.asked == identity.called == [NAME]
        assert internet.public is not None
        assert f"\r\nHost: {NAME}:8443\r\n".encode() in internet.public.requests[0]


async def test_a_name_that_is_rebound_after_the_check_changes_nothing(identity: Identity) -> None:
    names = Names([PUBLIC], ["127.0.0.1"])
    async with world(identity, names) as (outbound, internet):
        answer = await outbound.send("GET", f"https://{NAME}/")
        assert answer.status == 200
        assert names.asked == [NAME]
        assert counted(internet) == (1, 0)


async def test_a_name_that_is_rebound_between_two_calls_is_refused_at_the_second(identity: Identity) -> None:
    async with world(identity, Names([PUBLIC], ["127.0.0.1"])) as (outbound, internet):
        await outbound.send("GET", f"https://{NAME}/")
        with pytest.raises(OutboundRefused):
            await outbound.send("GET", f"https://{NAME}/")
        assert counted(internet) == (1, 0)


@pytest.mark.parametrize(
    "addresses",
    [
        [PUBLIC, "127.0.0.1"],
        ["127.0.0.1", PUBLIC],
        [PUBLIC, PUBLIC_V6, "::1"],
        [PUBLIC, "1.1.1.1", "8.8.8.8", "9.9.9.9", "1.0.0.1", "10.0.0.1"],
        [PUBLIC_V6, "::ffff:127.0.0.1"],
    ],
)
async def test_one_private_address_among_public_ones_is_enough_to_refuse(
    identity: Identity, addresses: list[str]
) -> None:
    async with world(identity, Names(addresses)) as (outbound, internet):
        with pytest.raises(OutboundRefused) as refused:
            await outbound.send("GET", f"https://{NAME}/")
        assert refused.value.reason is OutboundReason.ADDRESS
        assert (internet.asked, counted(internet)) == ([], (0, 0))


async def test_the_next_checked_address_is_tried_when_the_first_is_dead(identity: Identity) -> None:
    names = Names([PUBLIC_V6, PUBLIC])
    async with world(identity, names) as (outbound, internet):
        internet.dead = {PUBLIC_V6}
        assert (await outbound.send("GET", f"https://{NAME}/")).status == 200
        assert internet.asked == [PUBLIC_V6, PUBLIC]
        assert names.asked == [NAME]


async def test_an_address_is_its_own_identity_and_needs_no_look_up(identity: Identity) -> None:
    names = Names(["127.0.0.1"])
    async with world(identity, names) as (outbound, internet):
        assert (await outbound.send("GET", f"https://{PUBLIC}/")).status == 200
        assert (names.asked, internet.asked) == ([], [PUBLIC])


async def test_two_calls_share_neither_connection_nor_look_up(identity: Identity) -> None:
    names = Names([PUBLIC])
    async with world(identity, names) as (outbound, internet):
        for _ in range(2):
            await outbound.send("GET", f"https://{NAME}/")
        assert (len(names.asked), counted(internet)) == (2, (2, 0))


async def test_a_certificate_that_nobody_vouches_for_is_a_tls_failure(identity: Identity) -> None:
    async with world(identity, Names([PUBLIC]), trusted=False) as (outbound, internet):
        with pytest.raises(OutboundFailed, match="self-signed certificate") as failed:
            await outbound.send("GET", f"https://{NAME}/")
        assert failed.value.kind is FailureKind.TLS
        assert internet.public is not None
        assert internet.public.requests == []


async def test_a_certificate_for_another_name_is_a_tls_failure(identity: Identity) -> None:
    async with world(identity, Names([PUBLIC])) as (outbound, _):
        with pytest.raises(OutboundFailed, match=r"other\.example\.org") as failed:
            await outbound.send("GET", "https://other.example.org/")
        assert failed.value.kind is FailureKind.TLS


async def test_a_server_that_speaks_no_tls_is_a_tls_failure() -> None:
    async with serve(greeting=b"SSH-2.0-OpenSSH_9.6\r\n") as peer:
        with pytest.raises(OutboundFailed, match="the TLS handshake failed") as failed:
            await Outbound(allow=LOOPBACK).send("GET", f"https://127.0.0.1:{peer.port}/")
        assert failed.value.kind is FailureKind.TLS


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_proxy_in_the_environment_is_not_used(
    identity: Identity, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    async with serve() as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        async with world(identity, Names([PUBLIC])) as (outbound, internet):
            await outbound.send("GET", f"https://{NAME}/")
            assert (counted(internet), proxy.connections) == ((1, 0), 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "wiki.internal", "wiki"])
async def test_the_allow_list_lets_plain_http_through_to_its_networks(host: str) -> None:
    async with serve() as peer:
        internet = Internet(canary=peer)
        outbound = Outbound(allow=LOOPBACK, resolver=Names(["127.0.0.1"]), connector=internet)
        answer = await outbound.send("GET", f"http://{host}:{peer.port}/")
        assert (answer.status, peer.connections, internet.asked) == (200, 1, ["127.0.0.1"])


@pytest.mark.parametrize(
    ("url", "addresses", "reason"),
    [
        (f"http://{NAME}/", [PUBLIC], OutboundReason.INSECURE),
        (f"http://{NAME}/", ["127.0.0.1", PUBLIC], OutboundReason.INSECURE),
        (f"https://{NAME}:22/", [PUBLIC], OutboundReason.PORT),
        ("https://wiki.internal/", [PUBLIC], OutboundReason.NAME),
        (f"https://{NAME}/", ["127.0.0.1", "10.0.0.1"], OutboundReason.ADDRESS),
    ],
)
async def test_the_allow_list_loosens_nothing_for_addresses_outside_it(
    url: str, addresses: list[str], reason: OutboundReason
) -> None:
    async with serve() as canary:
        internet = Internet(canary=canary)
        outbound = Outbound(allow=LOOPBACK, resolver=Names(addresses), connector=internet)
        with pytest.raises(OutboundRefused) as refused:
            await outbound.send("GET", url)
        assert refused.value.reason is reason
        assert internet.asked == []


async def test_the_system_resolver_knows_the_hosts_file() -> None:
    assert ip_address("127.0.0.1") in await SystemResolver().resolve("localhost")


class Deaf:
    """A resolver whose name server is gone, or never answers."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent

    async def resolve(self, host: str) -> tuple[()]:
        if self.silent:
            await asyncio.sleep(60)
        raise socket.gaierror(socket.EAI_NONAME, f"{host} is not known")


@pytest.mark.parametrize(("silent", "kind"), [(False, FailureKind.DNS), (True, FailureKind.TIMEOUT)])
async def test_a_name_without_an_answer_is_a_failure_by_name(*, silent: bool, kind: FailureKind) -> None:
    outbound = Outbound(resolver=Deaf(silent=silent))
    with pytest.raises(OutboundFailed, match=NAME) as failed:
        await outbound.send("GET", f"https://{NAME}/", connect_within=timedelta(seconds=0.1))
    assert failed.value.kind is kind


async def test_a_name_with_no_address_at_all_is_a_dns_failure() -> None:
    with pytest.raises(OutboundFailed) as failed:
        await Outbound(resolver=Names([])).send("GET", f"https://{NAME}/")
    assert failed.value.kind is FailureKind.DNS


async def test_a_refused_connection_is_a_connect_failure() -> None:
    with held_port() as port, pytest.raises(OutboundFailed) as failed:
        await Outbound(allow=LOOPBACK).send("GET", f"http://127.0.0.1:{port}/")
    assert failed.value.kind is FailureKind.CONNECT


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("place", ["http://127.0.0.1:{port}/", "https://[::1]:{port}/", "//localhost:{port}/", "/x"])
async def test_a_redirect_is_an_answer_and_is_not_followed(status: int, place: str) -> None:
    async with serve() as canary:
        place = place.format(port=canary.port)
        head = (
            f"HTTP/1.1 {status} Elsewhere\r\nLocation: {place}\r\nRefresh: 0; url={place}\r\nContent-Length: 0\r\n\r\n"
        )
        async with serve(head.encode()) as peer:
            answer = await Outbound(allow=LOOPBACK).send("POST", f"http://127.0.0.1:{peer.port}/", body=b"{}")
        assert (answer.status, answer.headers["location"]) == (status, place)
        assert (peer.connections, canary.connections) == (1, 0)


async def test_cookies_are_not_kept() -> None:
    async with serve(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b; Path=/\r\n\r\n")) as peer:
        outbound = Outbound(allow=LOOPBACK)
        for _ in range(2):
            await outbound.send("GET", f"http://127.0.0.1:{peer.port}/")
        assert len(peer.requests) == 2
        assert not any(b"cookie" in request.lower() for request in peer.requests)
