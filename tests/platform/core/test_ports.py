"""Ports: an outside service is asked for by its Protocol, opened with the process, and replaced by a fake in tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import pytest

from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Resolver
from openslot.platform.core.outbound.resolver import SystemResolver
from openslot.platform.core.outbound.targets import get_target
from openslot.platform.core.ports import Ports, open_ports
from openslot.runtime import open_runtime
from openslot.wiring import PORTS
from tests.support.peers import PUBLIC, Names


class Clerk(Protocol):
    """Whoever can stamp a letter."""

    def stamp(self, letter: str) -> str:
        """Stamp it."""
        ...


class Office:
    """A clerk who is there from nine to five."""

    def __init__(self) -> None:
        self.is_open = True

    def stamp(self, letter: str) -> str:
        """Stamp it."""
        return f"{letter}, stamped"


async def test_an_adapter_is_opened_with_the_process_and_closed_in_the_end(settings: Settings) -> None:
    office = Office()

    @asynccontextmanager
    async def open_office(chosen: Settings) -> AsyncIterator[Office]:
        assert chosen is settings
        yield office
        office.is_open = False

    async with open_ports({Clerk: open_office}, settings) as ports:
        clerk: Clerk = ports.get(Clerk)
        assert clerk.stamp("a letter") == "a letter, stamped"
        assert office.is_open
    assert not office.is_open


async def test_where_there_is_a_fake_nothing_is_opened(settings: Settings) -> None:
    opened: list[Office] = []

    @asynccontextmanager
    async def open_office(_: Settings) -> AsyncIterator[Office]:
        opened.append(Office())
        yield opened[0]

    fake = Office()
    async with open_ports({Clerk: open_office}, settings, fakes={Clerk: fake}) as ports:
        assert ports.get(Clerk) is fake
    assert opened == []


def test_a_port_without_an_adapter_is_named() -> None:
    with pytest.raises(LookupError, match="no adapter is wired for the port Clerk"):
        Ports({}).get(Clerk)


async def test_the_process_looks_names_up_by_the_systems_resolver_unless_there_is_a_fake(settings: Settings) -> None:
    assert Resolver in PORTS
    async with open_runtime(settings) as runtime:
        assert isinstance(runtime.ports.get(Resolver), SystemResolver)

    names = Names([PUBLIC], ["127.0.0.1"])
    async with open_runtime(settings, fakes={Resolver: names}) as runtime:
        target = get_target("https://hooks.example.org/", allow=())
        assert [str(each) for each in await runtime.outbound._guard.get_addresses(target, owner_id=None)] == [PUBLIC]
    assert names.asked == ["hooks.example.org"]
