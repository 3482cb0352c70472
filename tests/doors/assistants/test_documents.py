"""Programs that are described by a document at their own address: how it is read, kept and mistrusted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from openslot.domains.accounts.models import User
from openslot.doors.oauth import operations
from openslot.doors.oauth.clients import get_client
from openslot.doors.oauth.errors import ClientDocumentUnavailable, InvalidClient
from openslot.doors.oauth.models import AssistantClient, ClientOrigin
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.hostile_urls import HOSTILE
from tests.support.small_internet import HERE, THERE, Site, redirect, small_internet

ADDRESS = f"https://{HERE}/oauth/client.json"
DOCUMENT = {"client_id": ADDRESS, "client_name": "Claude", "redirect_uris": [f"https://{HERE}/callback"]}


def answer(document: object, *headers: str, status: str = "200 OK") -> bytes:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers))
    return head.encode() + b"\r\n\r\n" + body


async def read(runtime: Runtime, user: User, outbound: Outbound, address: str = ADDRESS) -> AssistantClient:
    return await get_client(replace(runtime, outbound=outbound).work(PUBLIC), user, address)


async def test_a_program_is_what_its_document_says(
    runtime: Runtime, user: User, tmp_path: Path, clock: MovingClock
) -> None:
    site = Site(answer(DOCUMENT, "Cache-Control: max-age=3600"), answer({**DOCUMENT, "client_name": "Claude 2"}))
    async with small_internet(tmp_path, here=site) as (outbound, _):
        first = await read(runtime, user, outbound)
        clock.pass_time(minutes=59)
        kept = await read(runtime, user, outbound)
        clock.pass_time(minutes=2)
        renewed = await read(runtime, user, outbound)

    assert first.origin is ClientOrigin.DOCUMENT
    assert (first.name, kept.name, renewed.name) == ("Claude", "Claude", "Claude 2")
    assert len(site.requests) == 2
    assert b"cookie" not in site.requests[0].lower()


@pytest.mark.parametrize(
    ("directive", "minutes"),
    [
        ("max-age=0", 5),
        ("no-store", 5),
        ("no-cache, max-age=99", 5),
        ("max-age=9999999", 24 * 60),
        ("max-age=x", 5),
        ("max-age=99999999999999999999", 5),
    ],
)
async def test_a_copy_is_kept_within_bounds(
    runtime: Runtime, user: User, tmp_path: Path, directive: str, minutes: int
) -> None:
    site = Site(answer(DOCUMENT, f"Cache-Control: {directive}"))
    async with small_internet(tmp_path, here=site) as (outbound, _):
        client = await read(runtime, user, outbound)

    assert (client.expires_at - client.created_at).total_seconds() == minutes * 60


@pytest.mark.parametrize(
    "wrong",
    [
        answer({**DOCUMENT, "client_id": f"https://{THERE}/oauth/client.json"}),
        answer({**DOCUMENT, "client_id": f"{ADDRESS}/"}),
        answer({key: value for key, value in DOCUMENT.items() if key != "client_id"}),
        answer({**DOCUMENT, "redirect_uris": []}),
        answer({**DOCUMENT, "redirect_uris": ["javascript:alert(1)"]}),
        answer({**DOCUMENT, "redirect_uris": "x"}),
        answer([]),
        answer(b"<html>"),
        answer(b"\xff"),
        answer(b"[" * 60_000),
        answer(DOCUMENT, status="404 Not Found"),
        answer(DOCUMENT, status="201 Created"),
        answer({**DOCUMENT, "padding": "x" * 70_000}),
        redirect(f"https://{THERE}/oauth/client.json"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{",
    ],
)
async def test_a_wrong_document_is_no_program(runtime: Runtime, user: User, tmp_path: Path, wrong: bytes) -> None:
    async with small_internet(tmp_path, here=Site(wrong)) as (outbound, world):
        with pytest.raises(ClientDocumentUnavailable):
            await read(runtime, user, outbound)

        assert world.there.requests == []
    assert await runtime.pool.fetchval("select count(*) from assistant_clients") == 0


async def test_a_private_address_is_told_from_an_unknown_one_by_nothing(
    runtime: Runtime, user: User, tmp_path: Path
) -> None:
    """A user asks for addresses inside, and for some that do not exist or have no document."""
    told = set()
    async with small_internet(tmp_path, here=Site(answer(DOCUMENT, status="404 Not Found"))) as (outbound, world):
        world.name("inside.example", ("127.0.0.1",))
        for address in (
            "https://inside.example/client.json",
            "https://unknown.example/client.json",
            "https://169.254.169.254/client.json",
            ADDRESS,
        ):
            with pytest.raises(ClientDocumentUnavailable) as refused:
                await read(runtime, user, outbound, address)
            told.add((refused.value.code, str(refused.value.message), str(refused.value.details)))

    assert len(told) == 1


async def test_no_document_is_fetched_from_inside(runtime: Runtime, user: User, tmp_path: Path) -> None:
    addresses = [url.replace("{port}", "443") for urls in HOSTILE.values() for url in urls]
    async with small_internet(tmp_path) as (outbound, world):
        world.name("inside.example", ("127.0.0.1",))
        for address in (*addresses[:40], "https://inside.example/client.json", "https://169.254.169.254/latest/x"):
            await runtime.pool.execute("delete from rate_log")
            with pytest.raises((ClientDocumentUnavailable, InvalidClient)):
                await read(runtime, user, outbound, address)

        assert world.connected == []


@pytest.mark.parametrize(
    "address",
    [
        f"http://{HERE}/client.json",
        f"https://{HERE}",
        f"https://{HERE}/",
        f"https://{HERE}/a/../client.json",
        f"https://{HERE}/client.json?x=1",
        f"https://{HERE}/client.json#x",
        f"https://user@{HERE}/client.json",
        f"https://{HERE.upper()}/client.json",
        f"https://{HERE}\\client.json",
    ],
)
async def test_an_address_that_can_be_written_otherwise_is_no_id(
    runtime: Runtime, user: User, tmp_path: Path, address: str
) -> None:
    async with small_internet(tmp_path) as (outbound, world):
        with pytest.raises(InvalidClient):
            await read(runtime, user, outbound, address)

        assert world.looked_up == []


async def test_a_user_can_not_have_us_fetch_without_end(runtime: Runtime, user: User, tmp_path: Path) -> None:
    site = Site(answer(b"no document"))
    async with small_internet(tmp_path, here=site) as (outbound, _):
        for number in range(25):
            with pytest.raises(Exception, match=r"valid|Too many requests"):
                await read(runtime, user, outbound, f"{ADDRESS}{number}")

    assert len(site.requests) == 20


async def test_a_program_with_a_document_may_listen_on_this_computer(
    runtime: Runtime, user: User, tmp_path: Path
) -> None:
    site = Site(answer({**DOCUMENT, "redirect_uris": ["http://localhost/callback"]}))
    async with small_internet(tmp_path, here=site) as (outbound, _):
        work = replace(runtime, outbound=outbound).work(PUBLIC)
        given = {"client_id": ADDRESS, "redirect_uri": "http://localhost:3118/callback"}

        assert (await operations.get_asking_client(work, user, given)).id == ADDRESS
