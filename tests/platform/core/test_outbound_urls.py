"""Which URLs are refused, and that none of them leads to a connection."""

from ipaddress import ip_address, ip_network

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslot.platform.core.errors import Refusal, RefusalKind
from openslot.platform.core.outbound import Outbound, OutboundReason, OutboundRefused, check_url
from openslot.platform.core.outbound.targets import SENTENCES, get_target, is_public
from tests.support.hostile_urls import HOSTILE, PRIVATE_ADDRESSES, SHAPES
from tests.support.peers import PUBLIC, Internet, Names, serve

ANYWHERE = (ip_network("0.0.0.0/0"), ip_network("::/0"))


def test_the_table_is_large_and_has_no_shape_twice() -> None:
    assert len({url for _, url in SHAPES}) == len(SHAPES) >= 60


@pytest.mark.parametrize(("reason", "url"), SHAPES)
def test_a_hostile_url_is_refused_when_it_is_saved(reason: OutboundReason, url: str) -> None:
    with pytest.raises(OutboundRefused) as refused:
        check_url(url.replace("{port}", "8443"))
    assert refused.value.reason is reason


async def test_no_hostile_url_reaches_the_canary_though_every_road_leads_there() -> None:
    async with serve() as canary:
        internet = Internet(canary=canary)
        outbound = Outbound(resolver=Names(["127.0.0.1", "::1"]), connector=internet)
        for reason, url in SHAPES:
            with pytest.raises(OutboundRefused) as refused:
                await outbound.send("POST", url.replace("{port}", str(canary.port)), body=b"{}")
            assert refused.value.reason is reason, url
        await outbound.close()
        assert (canary.connections, internet.asked) == (0, [])


async def test_no_hostile_url_reaches_the_canary_over_real_sockets() -> None:
    async with serve() as canary:
        outbound = Outbound(resolver=Names(["127.0.0.1", "::1"]))
        for url in (url.replace("{port}", str(canary.port)) for _, url in SHAPES if "{port}" in url):
            with pytest.raises(OutboundRefused):
                await outbound.send("GET", url)
        await outbound.close()
        assert canary.connections == 0


async def test_the_same_addresses_do_reach_the_canary_once_the_operator_allows_them() -> None:
    async with serve() as canary:
        outbound = Outbound(allow=ANYWHERE, connector=Internet(canary=canary))
        for url in HOSTILE[OutboundReason.ADDRESS]:
            plain = url.lower().replace("https:", "http:", 1).replace("{port}", str(canary.port))
            assert (await outbound.send("GET", plain)).status == 200
        await outbound.close()
        assert canary.connections == len(HOSTILE[OutboundReason.ADDRESS])


@pytest.mark.parametrize("address", PRIVATE_ADDRESSES)
async def test_a_harmless_name_with_a_private_address_is_not_connected_to(address: str) -> None:
    async with serve() as canary:
        internet = Internet(canary=canary)
        outbound = Outbound(resolver=Names([address]), connector=internet)
        with pytest.raises(OutboundRefused) as refused:
            await outbound.send("GET", "https://hooks.example.org/")
        assert refused.value.reason is OutboundReason.ADDRESS
        assert address not in refused.value.message
        assert (canary.connections, internet.asked) == (0, [])


@pytest.mark.parametrize(
    "address", [PUBLIC, "1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "2a00::1", "64:ff9b::101:101"]
)
def test_an_address_of_the_public_internet_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "host_header"),
    [
        ("https://hooks.example.org", "hooks.example.org", 443, "/", "hooks.example.org"),
        ("https://Hooks.Example.ORG:8443/In?a=1#top", "hooks.example.org", 8443, "/In?a=1", "hooks.example.org:8443"),
        ("https://hooks.example.org?a=%20", "hooks.example.org", 443, "/?a=%20", "hooks.example.org"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
        ("https://_dmarc.example.org:80/", "_dmarc.example.org", 80, "/", "_dmarc.example.org:80"),
        ("https://1.1.1.1/", "1.1.1.1", 443, "/", "1.1.1.1"),
        ("https://[2606:4700:0::1111]/", "2606:4700::1111", 443, "/", "[2606:4700::1111]"),
        ("https://example.org/@user/a:b", "example.org", 443, "/@user/a:b", "example.org"),
    ],
)
def test_a_sound_url_is_read_as_written(url: str, host: str, port: int, path: str, host_header: str) -> None:
    target = get_target(url, allow=())
    assert (target.host, target.port, target.path, target.host_header) == (host, port, path, host_header)


HOSTS = ("a.org", "A.Example.ORG", "_x.example.org", "xn--bcher-kva.example", "1.1.1.1", "[2606:4700:0::1]", "a-b.co")
PARTS = (*"/?#[]@:%.{}|^`<>_-=&;+~", "..", "/../", "%2e", "xn--", "\\", ":8443", "//", "a", "1")


@given(
    st.sampled_from(HOSTS),
    st.sampled_from(("", ":443", ":08443", ":65535")),
    st.lists(st.sampled_from(PARTS), max_size=9).map("".join),
)
def test_a_url_that_is_accepted_leads_to_the_same_place_when_httpx2_has_read_it(
    host: str, port: str, rest: str
) -> None:
    url = f"https://{host}{port}{rest}"
    try:
        target = get_target(url, allow=())
    except OutboundRefused:
        return
    again = get_target(str(httpx2.Request("GET", url).url), allow=())
    assert (again.scheme, again.host, again.port) == (target.scheme, target.host, target.port)


@pytest.mark.parametrize("url", ["http://10.1.2.3/", "https://10.1.2.3:5432/", "http://wiki.corp/", "http://wiki:81/"])
def test_an_allowed_network_may_be_named_by_http_any_port_and_short_names(url: str) -> None:
    check_url(url, allow=[ip_network("10.0.0.0/8")])


@pytest.mark.parametrize("url", ["https://11.0.0.1:22/", "http://1.1.1.1/", "https://[::ffff:10.1.2.3]/"])
def test_an_allowed_network_opens_nothing_beside_itself(url: str) -> None:
    with pytest.raises(OutboundRefused):
        check_url(url, allow=[ip_network("10.0.0.0/8")])


def test_every_reason_has_its_sentence() -> None:
    assert set(SENTENCES) == set(OutboundReason)
    refused = OutboundRefused(OutboundReason.ADDRESS)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.kind) == ("url_not_allowed", RefusalKind.INVALID)
