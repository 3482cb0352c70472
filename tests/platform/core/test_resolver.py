"""Names are resolved as the system is configured, and a look-up that is cancelled leaves nothing behind."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from openslot.platform.core.outbound import resolver as resolver_module
from openslot.platform.core.outbound.resolver import list_candidates, read_hosts, read_other_sources, read_resolv_conf
from tests.support.name_server import NameServer, serving_names

NAME = "hooks.harbor.example"
V4, OTHER_V4, V6 = "93.184.215.14", "93.184.215.15", "2606:2800:21f::1"
DEAD = "127.0.0.99"
WITHIN = 60.0


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NameServer]:
    # On a busy machine, answers may take longer than people would wait.
    monkeypatch.setattr(resolver_module, "LOOK_UP_SECONDS", WITHIN)
    monkeypatch.setattr(resolver_module, "OTHER_FAMILY_SECONDS", WITHIN)
    async with serving_names() as opened:
        opened.addresses[NAME] = [V4]
        yield opened


async def resolve(server: NameServer, name: str = NAME) -> set[str]:
    return set(map(str, await server.resolver().resolve(name)))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_name_has_all_its_addresses_of_both_families(server: NameServer) -> None:
    server.addresses[NAME] = [V4, OTHER_V4, V6]
    assert await resolve(server) == {V4, OTHER_V4, V6}
    assert server.kinds == {"A": 1, "AAAA": 1}


@pytest.mark.parametrize("routed", [{4, 6}, {4}, {6}], ids=["both", "only IPv4", "only IPv6"])
async def test_addresses_that_the_machine_can_reach_come_first_and_ipv6_before_ipv4(
    server: NameServer, routed: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "_has_route", lambda address: address.version in routed)
    server.addresses[NAME] = [V4, OTHER_V4, V6]
    found = [address.version for address in await server.resolver().resolve(NAME)]
    assert found == ([4, 4, 6] if routed == {4} else [6, 4, 4])


async def test_aliases_are_followed_to_their_addresses(server: NameServer) -> None:
    server.aliases = {"www.harbor.example": "edge.harbor.example", "edge.harbor.example": NAME}
    assert await resolve(server, "www.harbor.example") == {V4}


async def test_an_answer_that_is_too_long_for_a_datagram_is_read_over_tcp(server: NameServer) -> None:
    many = [f"93.184.{n // 250}.{n % 250 + 1}" for n in range(300)]
    server.addresses[NAME] = many
    server.truncated.add(NAME)
    assert await resolve(server) == set(many)
    assert set(server.asked_by_tcp) == {NAME}


@pytest.mark.parametrize("kind", ["AAAA", "A"])
async def test_a_family_that_is_never_answered_does_not_hide_the_other(
    server: NameServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "OTHER_FAMILY_SECONDS", 0.1)
    server.addresses[NAME] = [V4, V6]
    server.mute.add((NAME, kind))
    assert await resolve(server) == {V4 if kind == "AAAA" else V6}


@pytest.mark.rest("waits for seconds")
async def test_the_next_name_server_is_asked_if_one_is_dead(server: NameServer) -> None:
    server.configure(resolv_conf=f"nameserver {DEAD}\nnameserver 127.0.0.1\n")
    assert await resolve(server) == {V4}


async def test_a_change_of_resolv_conf_and_hosts_is_noticed(server: NameServer) -> None:
    resolver = server.resolver()
    async with serving_names(at="127.0.0.2", port=server.port) as other:
        other.addresses[NAME] = [OTHER_V4]
        assert list(map(str, await resolver.resolve(NAME))) == [V4]
        server.configure(resolv_conf="nameserver 127.0.0.2\n")
        assert list(map(str, await resolver.resolve(NAME))) == [OTHER_V4]
        server.configure(hosts=f"10.1.2.3 {NAME}\n")
        assert list(map(str, await resolver.resolve(NAME))) == ["10.1.2.3"]
        server.configure()
        assert list(map(str, await resolver.resolve(NAME))) == [V4]


async def test_a_name_in_the_hosts_file_is_not_asked_for(server: NameServer) -> None:
    server.configure(hosts=f"# local\n10.1.2.3 crm {NAME.upper()} # ours\nfd00::3 crm\n\nnonsense crm\n10.9.9.9\n")
    assert await resolve(server) == {"10.1.2.3"}
    assert await resolve(server, "CRM") == {"10.1.2.3", "fd00::3"}
    assert server.asked == []


async def test_localhost_is_loopback_and_never_asked_for(server: NameServer) -> None:
    for name in ("localhost", "LocalHost", "app.localhost"):
        assert await resolve(server, name) == {"127.0.0.1", "::1"}
    assert server.asked == []


async def test_a_short_name_is_found_in_a_search_domain(server: NameServer) -> None:
    server.configure(resolv_conf="nameserver 127.0.0.1\nsearch first.example corp.example\n")
    server.addresses["crm.corp.example"] = [OTHER_V4]
    assert await resolve(server, "crm") == {OTHER_V4}
    assert list(dict.fromkeys(server.asked)) == ["crm.first.example", "crm.corp.example"]


async def test_a_search_domain_whose_server_fails_does_not_hide_the_name(server: NameServer) -> None:
    server.configure(resolv_conf="nameserver 127.0.0.1\nsearch corp.example\noptions ndots:5\n")
    server.broken.add(f"{NAME}.corp.example")
    assert await resolve(server) == {V4}


@pytest.mark.parametrize(
    ("configuration", "host", "asked"),
    [
        ("search a.example b.example", "crm", ["crm.a.example.", "crm.b.example.", "crm."]),
        ("search a.example", "x.harbor.org", ["x.harbor.org.", "x.harbor.org.a.example."]),
        ("search a.example\noptions ndots:3", "x.harbor.org", ["x.harbor.org.a.example.", "x.harbor.org."]),
        ("domain a.example", "crm", ["crm.a.example.", "crm."]),
        ("search bad..name\nsearch .", "crm", ["crm."]),
        (f"search {'long.' * 49}example", f"{'x' * 60}.org", [f"{'x' * 60}.org."]),
    ],
    ids=["short", "full", "ndots", "domain", "malformed", "too long"],
)
def test_names_are_searched_as_resolv_conf_says(configuration: str, host: str, asked: list[str]) -> None:
    client = read_resolv_conf(f"nameserver 127.0.0.1\n{configuration}\n")
    assert list(map(str, list_candidates(client, host))) == asked


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("", ["127.0.0.1"]),
        ("nameserver\nnameserver none\nnameserver https://dns.example/\n# nameserver 10.0.0.1\n", ["127.0.0.1"]),
        ("nameserver 10.0.0.1\nnameserver fd00::1\noptions timeout:60 attempts:9\n", ["10.0.0.1", "fd00::1"]),
        ("".join(f"nameserver 10.0.0.{n}\n" for n in range(1, 9)), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    ],
    ids=["empty", "malformed", "two", "many"],
)
def test_name_servers_are_read_and_all_of_them_are_asked_in_time(text: str, servers: list[str]) -> None:
    client = read_resolv_conf(text)
    assert client.nameservers == servers
    assert client.timeout * len(servers) < client.lifetime


def test_files_that_are_missing_or_malformed_say_nothing() -> None:
    assert read_hosts("\0\n127.0.0.1\n999.1.1.1 x\n") == {}
    assert read_other_sources("") == read_other_sources("hosts: files dns\npasswd: files systemd") == frozenset()
    assert read_other_sources("hosts: files mdns4_minimal [NOTFOUND=return] dns # resolve") == {"mdns4_minimal"}


@pytest.mark.parametrize("name", ["nothing.example", "broken.example", "empty.example", f"{'x' * 64}.example"])
async def test_a_name_that_does_not_exist_or_fails_is_an_error(server: NameServer, name: str) -> None:
    server.addresses["empty.example"] = []
    with pytest.raises(OSError, match=r".") as failed:
        await resolve(server, name)
    assert not isinstance(failed.value, TimeoutError)


async def test_a_name_that_is_never_answered_has_a_deadline(
    server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "LOOK_UP_SECONDS", 0.2)
    with pytest.raises(TimeoutError):
        await resolve(server, "hooks.silent.example")


async def test_a_cancelled_look_up_leaves_no_socket_task_or_thread(server: NameServer) -> None:
    def count() -> tuple[int, int, int]:
        return len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), threading.active_count()

    before = count()
    looking_up = [asyncio.create_task(resolve(server, f"{n}.silent.example")) for n in range(10)]
    await until(lambda: len(set(server.asked)) == 10 and min(server.kinds["A"], server.kinds["AAAA"]) >= 10)
    assert count()[0] >= before[0] + 20, "each asks for both families"
    assert count()[2] == before[2]
    for each in looking_up:
        each.cancel()
    await asyncio.gather(*looking_up, return_exceptions=True)
    assert all(each.cancelled() for each in looking_up)
    await until(lambda: count() == before)


def write_getent(folder: Path, script: str) -> Path:
    (folder / "getent").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "getent").chmod(0o755)
    return folder


OTHER_SOURCES = "hosts: files mdns4_minimal [NOTFOUND=return] dns\n"


async def test_private_names_are_asked_of_the_other_sources_that_the_system_has(
    server: NameServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'echo "10.1.2.3 STREAM $2"; echo "10.1.2.3 DGRAM"; echo "fd00::3 STREAM"'
    monkeypatch.setenv("PATH", str(write_getent(tmp_path, script)), prepend=os.pathsep)
    server.configure(nsswitch=OTHER_SOURCES)
    assert await resolve(server, "nas.local") == await resolve(server, "nas") == {"10.1.2.3", "fd00::3"}
    assert server.asked == []
    assert await resolve(server) == {V4}, "public names are asked of the DNS alone"


async def test_a_private_name_that_no_source_knows_is_an_error(
    server: NameServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(write_getent(tmp_path, "exit 2")), prepend=os.pathsep)
    server.configure(nsswitch=OTHER_SOURCES)
    with pytest.raises(OSError, match="does not exist"):
        await resolve(server, "nas.local")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError):
        await resolve(server, "nas.local")


async def test_a_cancelled_look_up_ends_the_process_that_asks(
    server: NameServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "pid"
    script = f"echo $$ > {place}.new; mv {place}.new {place}; exec sleep 1000"
    monkeypatch.setenv("PATH", str(write_getent(tmp_path, script)), prepend=os.pathsep)
    server.configure(nsswitch=OTHER_SOURCES)
    looking_up = asyncio.create_task(resolve(server, "nas.local"))
    await until(place.exists)
    looking_up.cancel()
    await asyncio.gather(looking_up, return_exceptions=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)
