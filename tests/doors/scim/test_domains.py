"""Domains are proved by a record in the DNS; the fake and the real adapter answer alike."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from openslot.domains.accounts.errors import DomainAlreadyClaimed, DomainNotFound, DomainNotVerified
from openslot.domains.accounts.models import Domain, Organization
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.organizations.operations import TxtResolver
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Unavailable
from openslot.platform.core.work import Runtime
from openslot.vendors.dns import DnsResolver
from tests.support.name_server import FakeResolver, Records, serving_names
from tests.support.provisioning import found_organization

LONG = "x" * 300


@asynccontextmanager
async def asking_a_server(records: Records) -> AsyncIterator[DnsResolver]:
    async with serving_names() as server:
        server.texts = records
        yield server.txt_resolver()


@asynccontextmanager
async def faking_names(records: Records) -> AsyncIterator[FakeResolver]:
    yield FakeResolver(records)


RESOLVERS = pytest.mark.parametrize("resolver_of", [asking_a_server, faking_names], ids=["real", "fake"])


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
    async with asking_a_server({}) as resolver:
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
        with pytest.raises(DomainNotVerified, match=claimed.proof):
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
    with pytest.raises(DomainAlreadyClaimed):
        await organizations.verify_domain(runtime.work(OPERATOR), rival, "harbor.example", resolver)
    with pytest.raises(DomainNotFound):
        await organizations.verify_domain(runtime.work(OPERATOR), organization, "nothing.example", resolver)
