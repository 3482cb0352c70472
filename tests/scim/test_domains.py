"""Domains are proved by a record in the DNS; the fake and the real adapter answer alike."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from openslot.accounts import organizations
from openslot.accounts.errors import DomainNotFound, DomainNotProved, DomainTaken
from openslot.accounts.models import Domain, Organization
from openslot.accounts.organizations import TxtResolver
from openslot.core.actor import OPERATOR
from openslot.core.errors import Unavailable
from openslot.core.work import Runtime
from openslot.integrations.dns import DnsResolver
from tests.scim.conftest import found_organization

Records = dict[str, list[str]]
LONG = "x" * 300


class FakeResolver:
    """Answers from a dictionary."""

    def __init__(self, records: Records) -> None:
        self.records = records

    async def list_txt(self, name: str) -> list[str]:
        return self.records.get(name, [])


def quoted(text: str) -> str:
    """Write a record in pieces, as long ones are."""
    return " ".join(f'"{text[n : n + 200]}"' for n in range(0, len(text), 200))


class NameServer(asyncio.DatagramProtocol):
    """A name server that knows these records."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        name = str(query.question[0].name).rstrip(".")
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if name == "broken.example":
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif name not in self.records:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif self.records[name]:
            texts = [
                " ".join(f'"{text[n : n + 200]}"' for n in range(0, len(text), 200)) for text in self.records[name]
            ]
            answer.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "TXT", *texts))
        self.transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def serving_names(records: Records) -> AsyncIterator[DnsResolver]:
    """Serve records on a free port, and lend a resolver that asks there."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: NameServer(records), local_addr=("127.0.0.1", 0))
    try:
        yield DnsResolver(nameservers=["127.0.0.1"], port=transport.get_extra_info("sockname")[1])
    finally:
        transport.close()


@asynccontextmanager
async def faking_names(records: Records) -> AsyncIterator[FakeResolver]:
    yield FakeResolver(records)


RESOLVERS = pytest.mark.parametrize("resolver_of", [serving_names, faking_names], ids=["real", "fake"])


@RESOLVERS
async def test_every_record_of_a_name_is_listed(
    resolver_of: Callable[[Records], AbstractAsyncContextManager[TxtResolver]],
) -> None:
    records: Records = {"harbor.example": ["v=spf1 -all", "a=b; c", LONG], "empty.example": []}
    async with resolver_of(records) as resolver:
        assert sorted(await resolver.list_txt("harbor.example")) == sorted(records["harbor.example"])
        assert await resolver.list_txt("empty.example") == []
        assert await resolver.list_txt("nothing.example") == []


async def test_a_name_server_that_fails_is_no_proof_against_anything() -> None:
    async with serving_names({}) as resolver:
        with pytest.raises(Unavailable):
            await resolver.list_txt("broken.example")


async def claim(runtime: Runtime, organization: Organization, domain: str) -> Domain:
    async with runtime.transaction(OPERATOR) as work:
        return await organizations.add_domain(work, organization, domain, verified=False)


@pytest.mark.parametrize("name", ["_openslot.okafor.example", "okafor.example"])
async def test_a_domain_with_the_record_is_verified(runtime: Runtime, organization: Organization, name: str) -> None:
    claimed = await claim(runtime, organization, "okafor.example")
    work = runtime.work(OPERATOR)
    for records in ({}, {name: ["openslot-verification=other"]}, {f"x.{name}": [claimed.proof]}):
        with pytest.raises(DomainNotProved, match=claimed.proof):
            await organizations.verify_domain(work, organization, "okafor.example", FakeResolver(records))
    verified = await organizations.verify_domain(
        work, organization, "Okafor.example", FakeResolver({name: ["other", claimed.proof]})
    )

    assert verified.verified_at is not None
    found = {each.domain: each.verified_at for each in await organizations.list_domains(work, organization)}
    assert found["okafor.example"] is not None
    again = await claim(runtime, organization, "okafor.example")
    assert (again.proof, again.verified_at is not None) == (claimed.proof, True)


async def test_a_domain_belongs_to_whom_proves_it_first(runtime: Runtime, organization: Organization) -> None:
    rival, _ = await found_organization(runtime, "rival", "rival.example")
    claimed = await claim(runtime, rival, "harbor.example")
    resolver = FakeResolver({"harbor.example": [claimed.proof]})
    with pytest.raises(DomainTaken):
        await organizations.verify_domain(runtime.work(OPERATOR), rival, "harbor.example", resolver)
    with pytest.raises(DomainNotFound):
        await organizations.verify_domain(runtime.work(OPERATOR), organization, "nothing.example", resolver)
