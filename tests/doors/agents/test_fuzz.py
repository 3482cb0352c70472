"""Whatever is sent: an answer in time, never an error of ours, and the chain stays whole."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget_of_examples
from hypothesis import strategies as st
from msgspec.structs import replace

from openslot.app import create_app
from openslot.doors.agents.audit.operations import verify
from openslot.doors.agents.tools import TOOLS
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent, make_key
from tests.support.hangs import within_a_second
from tests.support.live import connect, serving
from tests.support.parts import how_many

EXAMPLES = how_many(100, long=250)
NAMES = [tool.name for tool in TOOLS]
METHODS = ["initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/initialized"]
VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2099-01-01"]
FIELDS = sorted(
    {name for tool in TOOLS for name in tool.arguments.__struct_encode_fields__} | {"confirm", "approvalId", "decision"}
)

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), values | st.just(True), max_size=5)
params = st.one_of(
    values,
    st.fixed_dictionaries(
        {"name": st.sampled_from(NAMES) | st.text(max_size=10), "arguments": arguments | values},
        optional={"_meta": values, "cursor": values, "protocolVersion": values},
    ),
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | values},
    optional={
        "id": st.integers() | st.text(max_size=5) | values,
        "method": st.sampled_from(METHODS) | values,
        "params": params,
    },
)
bodies = st.one_of(
    st.binary(max_size=60),
    st.lists(messages, max_size=4).map(msgspec.json.encode),
    messages.map(msgspec.json.encode),
    values.map(msgspec.json.encode),
)


async def test_nothing_that_is_sent_breaks_or_stops_the_server(settings: Settings, runtime: Runtime) -> None:
    key = await make_key(runtime, "orchestrator")
    patient = replace(settings, limit_agent=1_000_000)
    async with serving(create_app(patient)) as url, connect(url, timeout=60) as client:
        agent = TestAgent(client, key)
        loop = asyncio.get_running_loop()

        @budget_of_examples(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(body=bodies, version=st.sampled_from(VERSIONS))
        def send(body: bytes, version: str) -> None:
            with within_a_second(body):
                sent = asyncio.run_coroutine_threadsafe(agent.post(body, MCP_Protocol_Version=version), loop)
                check_answer(sent.result(timeout=120))

        await asyncio.to_thread(send)

    assert (await verify(runtime)).faults == ()


CALL = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_bookings", "arguments": '
HOSTILE = {
    "lists": b"[" * 200_000,
    "objects": b'{"a":' * 40_000,
    "messages inside one another": b'{"jsonrpc": "2.0", "params": ' * 8_000,
    "arguments inside one another": CALL + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "many arguments": CALL + b"{" + b",".join(b'"k%d": 1' % n for n in range(18_000)) + b"}}}",
    "a long list of statuses": CALL + b'{"status": [' + b'"CONFIRMED",' * 18_000 + b'"all"]}}}',
    "a batch of everything": b"[" + b"{}," * 60_000 + b"{}]",
    "an id of digits": b'{"jsonrpc": "2.0", "method": "ping", "id": ' + b"9" * 200_000 + b"}",
    "a method of escapes": b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"\\u0000" * 40_000 + b'"}',
    "a text without an end": b'{"jsonrpc": "2.0", "id": 1, "method": "' + b'\\"' * 100_000,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_message_is_answered_within_a_second(orchestrator: TestAgent, body: bytes) -> None:
    for version in VERSIONS:
        with within_a_second(body):
            answer = await orchestrator.post(body, MCP_Protocol_Version=version)
        check_answer(answer)
        assert len(answer.content) < 20_000


def check_answer(answer: Any) -> None:
    """Every answer is JSON-RPC, or empty because nobody waits for one."""
    assert answer.status_code in {200, 202, 400, 404}, (answer.status_code, answer.text)
    if answer.status_code == 202:
        assert answer.content == b""
        return
    told = answer.json()
    for each in told if isinstance(told, list) else [told]:
        assert each["jsonrpc"] == "2.0"
        assert ("result" in each) != ("error" in each)
