"""Domains: claimed, proved by a DNS record, and given up."""

import httpx2
import pytest

from openslot.platform.core.errors import Unavailable
from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor, act_as
from tests.support.name_server import FakeResolver
from tests.support.page import read_page

PAGE = "/organization/domains"


async def test_a_domain_is_added_checked_and_removed(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver
) -> None:
    assert (await owner.post(PAGE, data={"domain": " Second.Example. "})).headers["location"] == f"{PAGE}?done=added"
    proof = await runtime.pool.fetchval("select proof from domains where domain = 'second.example'")
    shown = await owner.get(PAGE)
    assert "_openslot.second.example" in read_page(shown).text
    assert proof in read_page(shown).text
    missing = await owner.post(f"{PAGE}/second.example/check")
    assert (
        missing.status_code,
        "_openslot.second.example has no TXT record with the value" in read_page(missing).notices[0],
    ) == (
        409,
        True,
    )
    resolver.records["_openslot.second.example"] = [proof]
    done = await owner.post(f"{PAGE}/second.example/check")
    assert "is verified" in read_page(await owner.get(done.headers["location"])).notices[0]
    # Being checked again changes nothing.
    assert (await owner.post(f"{PAGE}/second.example/check")).status_code == 303
    assert "Members stay" in read_page(await owner.get(f"{PAGE}/second.example/remove")).text
    assert (await owner.post(f"{PAGE}/second.example/remove")).status_code == 303
    actions = [row["action"] for row in await runtime.pool.fetch("select action from change_log order by id")]

    assert actions == ["domain.added", "domain.verified", "domain.verified", "domain.removed"]
    assert harbor.organization.slug == "harbor"
    for path in ("second.example/check", "second.example/remove", "x/check"):
        assert (await owner.post(f"{PAGE}/{path}")).status_code == 404


WRONG_DOMAINS: list[tuple[str, str]] = [
    ("", "Enter a domain"),
    ("no dots", "Must be a domain"),
    ("http://x.example", "Must be a domain"),
    ("<b>.example", "Must be a domain"),
    ("x" * 254, "Must have at most 253 characters"),
    ("münchen.example", "Must be a domain"),
]


async def test_a_wrong_domain_is_explained(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    del harbor
    for domain, fault in WRONG_DOMAINS:
        answer = await owner.post(PAGE, data={"domain": domain})

        assert (answer.status_code, fault in read_page(answer).faults["domain"]) == (400, True), (domain, fault)
        assert await runtime.pool.fetchval("select count(*) from change_log") == 0, (domain, fault)


async def test_a_domain_of_another_organization_can_be_claimed_and_not_verified(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver
) -> None:
    await owner.post(PAGE, data={"domain": "beacon.example"})
    proof = await runtime.pool.fetchval(
        "select proof from domains where domain = 'beacon.example' and organization_id = $1", harbor.organization.id
    )
    resolver.records["beacon.example"] = [proof]
    answer = await owner.post(f"{PAGE}/beacon.example/check")

    assert (answer.status_code, "belongs to another organization" in read_page(answer).notices[0]) == (409, True)
    await act_as(owner, runtime, harbor.foreign_owner)
    assert (await owner.get(f"{PAGE}/harbor.example/remove")).status_code == 404
    assert (await owner.post(f"{PAGE}/harbor.example/remove")).status_code == 404


async def test_a_silent_name_server_is_told(
    owner: httpx2.AsyncClient, harbor: Harbor, resolver: FakeResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    del harbor
    await owner.post(PAGE, data={"domain": "second.example"})

    async def fail(name: str) -> list[str]:
        raise Unavailable(f"DNS did not answer for {name}. Try again later")

    monkeypatch.setattr(resolver, "list_txt", fail)
    answer = await owner.post(f"{PAGE}/second.example/check")

    assert (answer.status_code, "DNS did not answer" in read_page(answer).notices[0]) == (503, True)


@pytest.mark.parametrize(
    "meanwhile",
    [
        "delete from domains where domain = 'second.example'",
        "update memberships set role = 'member' where role = 'owner'",
    ],
    ids=["the domain is removed", "the owner is demoted"],
)
async def test_what_changes_during_the_look_up_is_respected(
    owner: httpx2.AsyncClient,
    runtime: Runtime,
    harbor: Harbor,
    resolver: FakeResolver,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: str,
) -> None:
    del harbor
    await owner.post(PAGE, data={"domain": "second.example"})
    proof = await runtime.pool.fetchval("select proof from domains where domain = 'second.example'")

    async def answer_late(name: str) -> list[str]:
        del name
        await runtime.pool.execute(meanwhile)
        return [proof]

    monkeypatch.setattr(resolver, "list_txt", answer_late)
    answer = await owner.post(f"{PAGE}/second.example/check")

    assert answer.status_code == 404
    assert await runtime.pool.fetchval("select count(*) from domains where verified_at is not null") == 2
    assert await runtime.pool.fetchval("select count(*) from change_log") == 1
