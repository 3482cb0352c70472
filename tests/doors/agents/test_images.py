"""Images by a model: what the endpoint did, what was spent, what the audit says and which files there are agree."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta
from io import BytesIO
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from msgspec.structs import replace
from PIL import Image

from openslot.doors.agents.reactions import tidy_agents
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from openslot.vendors import images as vendor
from tests.doors.agents.conftest import Connect
from tests.support.agent import TestAgent
from tests.support.clocks import MovingClock, clock
from tests.support.fake_images import KEY, SECRET_TEXT, FakeImages, draw, fake_images
from tests.support.fake_server import Fault, FaultKind

__all__ = ["clock"]

COST = 40_000
PROMPT: dict[str, Any] = {"prompt": "A lighthouse at dawn", "confirm": True}


@pytest.fixture
async def fake() -> AsyncIterator[FakeImages]:
    async with fake_images() as opened:
        yield opened


@pytest.fixture
def settings(settings: Settings, fake: FakeImages) -> Settings:
    """Settings of an operator who has an endpoint on this machine."""
    allowed = Networks((ip_network("127.0.0.0/8"),))
    return replace(settings, images_url=fake.url, images_key=KEY, images_model="gpt-image-1", outbound_allow=allowed)


async def count(runtime: Runtime) -> tuple[int, int, int, list[tuple[str, int]]]:
    """Read what was spent and is reserved, how many images are kept, and the records of calls."""
    row = await runtime.pool.fetchrow("select spent_micros, reserved_micros from agent_spend where agent = '*'")
    kept: int = await runtime.pool.fetchval("select count(*) from agent_images")
    calls = await runtime.pool.fetch("select status, cost_micros from agent_calls order by no")
    spent, reserved = (row["spent_micros"], row["reserved_micros"]) if row is not None else (0, 0)
    return spent, reserved, kept, [(each["status"], each["cost_micros"]) for each in calls]


async def get(client: httpx2.AsyncClient, url: str) -> httpx2.Response:
    return await client.get(urlsplit(url).path, headers={"Cookie": ""})


@pytest.mark.parametrize("by_url", [False, True])
@pytest.mark.parametrize("size", ["1024x1024", "1536x1024", "1024x1536"])
async def test_an_image_is_made_written_anew_kept_and_served(
    fake: FakeImages,
    orchestrator: TestAgent,
    runtime: Runtime,
    client: httpx2.AsyncClient,
    *,
    by_url: bool,
    size: str,
) -> None:
    fake.by_url = by_url
    made = await orchestrator.result("generate_image", **PROMPT, size=size)

    answer = await get(client, made["url"])
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "filename=image.jpg" in answer.headers["content-disposition"]
    assert SECRET_TEXT.encode() not in answer.content
    with Image.open(BytesIO(answer.content)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (made["width"], made["height"]))
    assert made["bytes"] == len(answer.content)
    asked = json.loads(fake.asked[0].body)
    assert asked == {"model": "gpt-image-1", "prompt": PROMPT["prompt"], "size": size, "n": 1}
    # The key goes to the endpoint alone, not to where the image is.
    assert [each.key for each in fake.asked] == [KEY] + [""] * by_url
    assert fake.made == 1
    assert await count(runtime) == (COST, 0, 1, [("ok", COST)])
    row = await runtime.pool.fetchrow("select i.agent from agent_images i join agent_calls c on c.id = i.audit_id")
    assert row is not None
    assert (row["agent"], made["costUsd"]) == ("orchestrator", 0.04)


PNG = draw(64, 64)
LARGE = b"\x89PNG\r\n\x1a\n" + bytes(100)
LOST = [
    Fault(FaultKind.HANG_UP),
    Fault(FaultKind.LOSE_ANSWER),
    Fault(FaultKind.RAW, status=200, body=b"<html>"),
    Fault(FaultKind.RAW, status=200, body=b"\xff\xfe"),
    Fault(FaultKind.RAW, status=200, body=b'{"data": []}'),
    Fault(FaultKind.RAW, status=200, body=b'{"data": [{}]}'),
    Fault(FaultKind.RAW, status=200, body=b'{"data": [{"b64_json": "not base64!"}]}'),
    Fault(FaultKind.RAW, status=200, body=b'{"data": [{"url": "file:///etc/passwd"}]}'),
    Fault(FaultKind.RAW, status=200, body=b'{"data": [{"url": "http://169.254.169.254/x.png"}]}'),
    Fault(FaultKind.STATUS, status=502),
    Fault(FaultKind.STATUS, status=504),
]


@pytest.mark.parametrize("fault", LOST, ids=lambda each: f"{each.kind} {each.status} {each.body[:40]!r}")
async def test_a_lost_answer_keeps_the_cost_and_no_file(
    fake: FakeImages, orchestrator: TestAgent, runtime: Runtime, fault: Fault
) -> None:
    fake.faults = [fault]
    answer = await orchestrator.call("generate_image", **PROMPT)

    assert answer["result"]["structuredContent"]["error"]["code"] == "image_lost"
    assert await count(runtime) == (COST, 0, 0, [("tool_error", COST)])


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(FaultKind.STATUS, status=401), "refuses the key"),
        (Fault(FaultKind.STATUS, status=429, headers={"Retry-After": "7"}), "429. Try again in 7 seconds"),
        (Fault(FaultKind.STATUS, status=500, body=b'{"error": {"message": "Over\\nloaded."}}'), "500: Over loaded"),
        (Fault(FaultKind.STATUS, status=503), "answered 503"),
        (Fault(FaultKind.STATUS, status=302, headers={"Location": "http://127.0.0.1/"}), "answered 302"),
    ],
)
async def test_a_refusal_of_the_endpoint_costs_nothing(
    fake: FakeImages, orchestrator: TestAgent, runtime: Runtime, fault: Fault, words: str
) -> None:
    fake.faults = [fault]
    answer = await orchestrator.call("generate_image", **PROMPT)

    error = answer["result"]["structuredContent"]["error"]
    assert error["code"] == "image_not_made"
    assert words in error["message"]
    assert KEY not in str(answer)
    assert (fake.made, await count(runtime)) == (0, (0, 0, 0, [("tool_error", 0)]))


async def test_what_the_endpoint_does_not_want_to_draw_costs_nothing(
    fake: FakeImages, orchestrator: TestAgent, runtime: Runtime
) -> None:
    answer = await orchestrator.call("generate_image", prompt="Something forbidden", confirm=True)

    error = answer["result"]["structuredContent"]["error"]
    assert error["message"] == ("The images endpoint answered 400: Your request was rejected by the safety system")
    assert (fake.made, await count(runtime)) == (0, (0, 0, 0, [("tool_error", 0)]))


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        (b"GIF89a" + bytes(50), "PNG, JPEG or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "PNG, JPEG or WebP"),
        (b"%PDF-1.7", "PNG, JPEG or WebP"),
        (b"", "PNG, JPEG or WebP"),
        (PNG[: len(PNG) // 2], "damaged"),
        (LARGE, "can't be used"),
        (draw(5000, 5000), "at most 16 megapixels"),
    ],
    ids=["gif", "svg", "pdf", "empty", "cut", "no image", "megapixels"],
)
async def test_what_is_no_picture_is_not_kept_and_stays_charged(
    fake: FakeImages, orchestrator: TestAgent, runtime: Runtime, picture: bytes, words: str
) -> None:
    fake.picture = picture
    answer = await orchestrator.call("generate_image", **PROMPT)

    error = answer["result"]["structuredContent"]["error"]
    assert (error["code"], words in error["message"]) == ("image_lost", True), error
    assert (fake.made, await count(runtime)) == (1, (COST, 0, 0, [("tool_error", COST)]))


async def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    fake: FakeImages, orchestrator: TestAgent, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor, "MAX_ANSWER", 1000)
    body = json.dumps({"data": [{"b64_json": b64encode(draw(512, 512)).decode()}]}).encode()
    fake.faults = [Fault(FaultKind.RAW, status=200, body=body)]
    answer = await orchestrator.call("generate_image", **PROMPT)

    assert "too large" in answer["result"]["structuredContent"]["error"]["message"]
    assert await count(runtime) == (COST, 0, 0, [("tool_error", COST)])


async def test_a_file_that_is_too_large_is_not_read_to_its_end(
    fake: FakeImages, orchestrator: TestAgent, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor, "MAX_IMAGE", 1000)
    fake.by_url = True
    answer = await orchestrator.call("generate_image", **PROMPT)

    assert "too large" in answer["result"]["structuredContent"]["error"]["message"]
    assert await count(runtime) == (COST, 0, 0, [("tool_error", COST)])


async def test_a_slow_endpoint_holds_no_connection_and_its_money_is_reserved(
    fake: FakeImages, orchestrator: TestAgent, runtime: Runtime
) -> None:
    release = asyncio.Event()
    fake.faults = [Fault(FaultKind.HOLD, release=release)]
    calling = asyncio.create_task(orchestrator.call("generate_image", **PROMPT))
    async with asyncio.timeout(10):
        while not fake.asked:
            await asyncio.sleep(0.01)
    busy = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in trans%'"
    meanwhile = (await runtime.pool.fetchval(busy), await count(runtime))
    release.set()
    answer = await calling

    assert meanwhile == (0, (0, COST, 0, []))
    assert not answer["result"]["isError"]
    assert await count(runtime) == (COST, 0, 1, [("ok", COST)])


async def test_an_endpoint_that_never_answers_is_given_up_and_stays_charged(
    orchestrator: TestAgent, fake: FakeImages, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor, "WITHIN", timedelta(seconds=0.3))
    fake.faults = [Fault(FaultKind.STALL)]
    answer = await orchestrator.call("generate_image", **PROMPT)

    assert "took too long" in answer["result"]["structuredContent"]["error"]["message"]
    assert await count(runtime) == (COST, 0, 0, [("tool_error", COST)])


async def test_images_stop_where_the_budget_ends(fake: FakeImages, enter: Connect, runtime: Runtime) -> None:
    orchestrator = await enter("orchestrator")
    told = {"name": "check_budget", "arguments": {}, "_meta": {"openslot/modelCostUsd": 4.9}}
    await orchestrator.ask("tools/call", told)
    answers = await asyncio.gather(*(orchestrator.call("generate_image", **PROMPT) for _ in range(5)))

    assert [each["error"]["code"] for each in answers if "error" in each] == [-32014] * 3
    assert fake.made == 2
    spent, reserved, kept, _ = await count(runtime)
    assert (spent, reserved, kept) == (4_900_000 + 2 * COST, 0, 2)


async def test_an_address_expires_and_the_image_is_deleted(
    client: httpx2.AsyncClient, orchestrator: TestAgent, runtime: Runtime, clock: MovingClock
) -> None:
    made = await orchestrator.result("generate_image", **PROMPT)
    clock.pass_time(days=7, seconds=-1)
    assert (await get(client, made["url"])).status_code == 200
    await tidy_agents(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from agent_images") == 1

    clock.pass_time(seconds=1)
    assert (await get(client, made["url"])).status_code == 404
    assert "1 images" in await tidy_agents(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from agent_images") == 0


async def test_only_the_signed_address_leads_to_the_image(client: httpx2.AsyncClient, orchestrator: TestAgent) -> None:
    made = await orchestrator.result("generate_image", **PROMPT)
    path = urlsplit(made["url"]).path
    token = path.rpartition("/")[2].removesuffix(".jpg")
    other = token[:-2] + ("AA" if not token.endswith("AA") else "BA")

    for wrong in (made["id"], f"{made['id']}.jpg", f"{other}.jpg", f"{token}.png", token, f"{token}.jpg.jpg"):
        assert (await client.get(f"/photos/agents/{wrong}")).status_code == 404


@pytest.mark.parametrize("missing", ["images_url", "images_key", "images_model"])
class TestNotConfigured:
    """One of the three settings is missing."""

    @pytest.fixture
    def settings(self, settings: Settings, missing: str) -> Settings:
        return replace(settings, **{missing: None})

    async def test_it_is_named_and_nothing_is_charged(
        self, fake: FakeImages, orchestrator: TestAgent, runtime: Runtime, missing: str
    ) -> None:
        answer = await orchestrator.call("generate_image", **PROMPT)

        error = answer["result"]["structuredContent"]["error"]
        assert error["code"] == "images_not_configured"
        assert error["message"].endswith(f"The operator must set OPENSLOT_{missing.upper()}")
        assert (fake.asked, await count(runtime)) == ([], (0, 0, 0, [("tool_error", 0)]))


class TestPrivateEndpoint:
    """The operator has not allowed the endpoint's network."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, outbound_allow=Networks())

    async def test_it_is_refused_and_nothing_is_charged(
        self, fake: FakeImages, orchestrator: TestAgent, runtime: Runtime
    ) -> None:
        answer = await orchestrator.call("generate_image", **PROMPT)

        assert "OPENSLOT_IMAGES_URL" in answer["result"]["structuredContent"]["error"]["message"]
        assert (fake.asked, await count(runtime)) == ([], (0, 0, 0, [("tool_error", 0)]))
