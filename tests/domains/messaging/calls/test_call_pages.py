"""The page of a call: its recording is played through the service, its transcript is text, and both can be deleted."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from ipaddress import ip_network

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.files import RECORDINGS, TRANSCRIPTS
from openslot.domains.messaging.jobs import erase
from openslot.domains.messaging.models import ProviderName
from openslot.doors.web.dashboard.calls import read_range
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.messaging.calls.support import tell, write_call
from tests.doors.web.contacts.conftest import Add, add
from tests.support.fake_gateway import FakeGateway, serving
from tests.support.fake_server import Fault, FaultKind
from tests.support.host import open_session
from tests.support.messaging import NUMBER, PHONE, insert_number
from tests.support.page import read_page

__all__ = ["add"]

SOUND = b"ID3" + bytes(range(200))
SAID = "Agent: Good morning.\nCaller: <script>alert(1)</script> & bye"


@pytest.fixture
async def provider() -> AsyncIterator[FakeGateway]:
    # What the service asks is signed at the time that it really is.
    async with serving(lambda: datetime.now(UTC)) as running:
        running.number = NUMBER
        running.files = {"rec/1": (SOUND, "audio/mpeg"), "text/1": (SAID.encode(), "text/plain; charset=utf-8")}
        yield running


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, outbound_allow=Networks((ip_network("127.0.0.0/8"),)))


@pytest.fixture
async def gateway(runtime: Runtime, user: User, provider: FakeGateway) -> MessagingConnection:
    return await insert_number(
        runtime,
        user_id=user.id,
        channel=ConnectionChannel.VOICE,
        provider=ProviderName.GATEWAY,
        account=provider.url,
        token=provider.secret,
    )


@pytest.fixture
async def path(
    client: httpx2.AsyncClient, runtime: Runtime, provider: FakeGateway, gateway: MessagingConnection
) -> str:
    """Where a call is shown that has a recording and a transcript."""
    body = write_call(recording="rec/1", transcript="text/1", agentName="Front desk")
    assert (await tell(client, runtime, gateway, body, secret=provider.secret)).status_code == 200
    return f"/calls/{await runtime.pool.fetchval('select id from calls')}"


async def test_a_call_is_played_and_read_through_the_service(
    member: httpx2.AsyncClient, provider: FakeGateway, path: str
) -> None:
    shown = await member.get(path)
    played = await member.get(f"{path}/recording")

    assert f'src="{path}/recording"' in shown.text
    assert "media-src 'self'" in shown.headers["content-security-policy"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; bye" in shown.text
    for secret in (provider.url, "rec/1", "text/1", provider.secret):
        assert secret not in shown.text
    assert "Recording" in read_page(await member.get("/calls")).text
    assert (played.status_code, played.content) == (200, SOUND)
    assert played.headers["content-type"] == "audio/mpeg"
    assert played.headers["accept-ranges"] == "bytes"
    assert played.headers["cache-control"] == "private, no-store"
    assert played.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("wanted", "status", "first", "stop"),
    [
        ("bytes=0-1", 206, 0, 2),
        ("bytes=5-", 206, 5, 203),
        ("bytes=-3", 206, 200, 203),
        ("bytes=200-999999", 206, 200, 203),
        ("bytes=203-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        ("bytes=9-5", 200, 0, 203),
        ("bytes=0-1,4-5", 200, 0, 203),
        ("bytes=-", 200, 0, 203),
        ("lines=1-2", 200, 0, 203),
        ("bytes=" + "9" * 13 + "-", 200, 0, 203),
    ],
)
async def test_a_player_gets_the_part_that_it_asks_for(
    member: httpx2.AsyncClient, path: str, wanted: str, status: int, first: int, stop: int
) -> None:
    answer = await member.get(f"{path}/recording", headers={"range": wanted})

    assert (answer.status_code, answer.content) == (status, SOUND[first:stop])
    if status == 206:
        assert answer.headers["content-range"] == f"bytes {first}-{stop - 1}/203"
    elif status == 416:
        assert answer.headers["content-range"] == "bytes */203"


def test_of_nothing_there_is_no_part() -> None:
    assert list(read_range("bytes=0-0", 0) or []) == []


async def test_nobody_else_gets_a_call(
    client: httpx2.AsyncClient, runtime: Runtime, stranger: User, provider: FakeGateway, path: str
) -> None:
    asked = len(provider.asked)
    anonymous = await client.get(f"{path}/recording")
    client.headers.update(await open_session(runtime, stranger))

    assert anonymous.status_code in {302, 303}
    for place in (path, f"{path}/recording", f"{path}/delete"):
        assert (await client.get(place)).status_code == 404
    assert (await client.post(f"{path}/delete", data={})).status_code == 404
    assert len(provider.asked) == asked
    assert await runtime.pool.fetchval("select count(*) from calls") == 1


@pytest.mark.parametrize(
    ("content", "kind"), [(b"<b>", "text/html"), (b"x", "video/mp4"), (b"0" * (RECORDINGS.max_bytes + 1), "audio/wav")]
)
async def test_what_is_no_sound_or_too_large_is_not_played(
    member: httpx2.AsyncClient, provider: FakeGateway, path: str, content: bytes, kind: str
) -> None:
    provider.files["rec/1"] = (content, kind)

    assert (await member.get(f"{path}/recording")).status_code == 404


@pytest.mark.parametrize(
    ("content", "kind"), [(b"<b>bold</b>", "text/html"), (b"x" * (TRANSCRIPTS.max_bytes + 1), "text/plain")]
)
async def test_a_transcript_that_is_no_text_or_too_long_is_not_shown(
    member: httpx2.AsyncClient, provider: FakeGateway, path: str, content: bytes, kind: str
) -> None:
    provider.files["text/1"] = (content, kind)
    shown = await member.get(path)

    assert shown.status_code == 200
    assert "The provider does not give the transcript now." in read_page(shown).text
    assert "<b>bold" not in shown.text


async def test_a_provider_that_is_down_leaves_the_page(
    member: httpx2.AsyncClient, provider: FakeGateway, path: str
) -> None:
    provider.faults += [Fault(FaultKind.HANG_UP), Fault(FaultKind.STATUS, status=500)]
    shown, played = await member.get(path), await member.get(f"{path}/recording")

    assert "The provider does not give the transcript now." in read_page(shown).text
    assert played.status_code == 503


async def test_a_call_is_deleted_after_a_question_here_and_at_the_provider(
    member: httpx2.AsyncClient, runtime: Runtime, provider: FakeGateway, path: str
) -> None:
    asked = read_page(await member.get(f"{path}/delete"))
    assert "Its recording and transcript are deleted here and at the provider." in asked.text
    assert await runtime.pool.fetchval("select count(*) from calls") == 1

    done = await member.post(f"{path}/delete")
    assert done.headers["location"] == "/calls?done=deleted"
    assert "The call is deleted." in read_page(await member.get(done.headers["location"])).text
    assert (await member.get(path)).status_code == 404
    assert set(provider.files) == {"rec/1", "text/1"}
    await erase(runtime.work(SYSTEM))
    assert provider.files == {}


async def test_calls_stay_when_their_contact_is_deleted(
    member: httpx2.AsyncClient, runtime: Runtime, add: Add, path: str
) -> None:
    contact_id = (await add(phone=PHONE)).id
    assert "Noor Haddad" in (await member.get(path)).text
    deleted = await member.post(f"/contacts/{contact_id}/delete")

    assert deleted.status_code == 303
    shown = await member.get(path)
    assert (shown.status_code, "Noor Haddad" in shown.text) == (200, False)
    assert await runtime.pool.fetchval("select count(*) from message_erasures") == 0


async def test_without_its_number_a_call_has_no_sound(member: httpx2.AsyncClient, runtime: Runtime, path: str) -> None:
    await runtime.pool.execute("update messaging_connections set token = null, disconnected_at = now()")

    assert (await member.get(f"{path}/recording")).status_code == 404
    assert (await member.get(path)).status_code == 200
