"""Every tool and every agent against the table that was copied from the specification, cell by cell over HTTP."""

from collections import Counter
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.doors.agents import budget, operations
from openslot.doors.agents.models import Level
from openslot.doors.agents.schemas import input_schema
from openslot.doors.agents.tools import TOOLS
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import Book, book, meeting
from tests.doors.agents.conftest import Connect
from tests.doors.agents.table import AGENTS, DOMAINS, LEVELS, SCOPES, TABLE, TIERS, Row
from tests.support.agent import TestAgent
from tests.support.clocks import clock
from tests.support.fake_images import KEY, FakeImages, fake_images
from tests.support.repositories import track
from tests.support.some import some

__all__ = ["book", "clock", "meeting"]

ABSENT = object()
CONFIRMS = (ABSENT, "true", 1, True)
# Cells in which it depends on confirm whether the call goes on; elsewhere it is enough to send it or not.
NEED_CONFIRM = "cao"
COSTLY = {"send_email", "generate_image"}
# What agents at L0 have the scopes for, and may do once an operator raises them.
RAISED = {
    "growth": {"generate_image"},
    "content": {"generate_image"},
    "customer_success": {"update_contact_metadata"},
}
# In `make test`, five of them, the Orchestrator too, call so many tools; of those that cost one at least.
EACH_AGENT = pytest.mark.parametrize("agent", AGENTS)
DAILY = 12
Arguments = dict[str, dict[str, object]]


def test_the_table_has_the_specifications_counts() -> None:
    assert (len(TABLE), len(SCOPES), sum(DOMAINS.values())) == (45, 17, 45)
    assert Counter(row.domain for row in TABLE) == DOMAINS
    assert Counter(row.scope for row in TABLE) == SCOPES
    assert Counter(row.tier for row in TABLE) == TIERS
    assert all(len(row.cells) == len(AGENTS) == 10 for row in TABLE)


def test_the_tools_are_those_of_the_table_in_its_order() -> None:
    assert [(tool.name, tool.scope, tool.tier.value) for tool in TOOLS] == [
        (row.tool, row.scope, row.tier) for row in TABLE
    ]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.tool)
def test_every_tool_takes_the_arguments_of_the_table_and_no_others(row: Row) -> None:
    [tool] = [each for each in TOOLS if each.name == row.tool]
    schema = input_schema(tool)
    required = set(schema.get("required", ()))

    assert schema["additionalProperties"] is False
    told = {name if name in required else f"{name}?" for name in schema.get("properties", {})}
    assert told == set(row.arguments.split())


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_description_tells_what_a_call_costs_and_who_approves_it(tool: Any) -> None:
    assert "cost" in tool.description.lower()
    assert ("approval by the Orchestrator" in tool.description) is (tool.tier == "T3")


@pytest.fixture
async def images() -> AsyncIterator[FakeImages]:
    async with fake_images() as opened:
        yield opened


@pytest.fixture
def settings(settings: Settings, images: FakeImages, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Enough room for tests that send much, an endpoint that makes images, and source code to read."""
    # Not in the data directory, of which agents see nothing.
    code = tmp_path_factory.mktemp("code")
    (code / "openslot").mkdir()
    (code / "openslot/app.py").write_text("class App: ...\n")
    track(code)
    endpoint = {"images_url": images.url, "images_key": KEY, "images_model": "gpt-image-1"}
    allowed = Networks((ip_network("127.0.0.0/8"),))
    much = {"limit_key": 10_000, "limit_public": 10_000}
    return replace(settings, **much, outbound_allow=allowed, codebase_root=code, **endpoint)


@pytest.fixture
async def arguments(runtime: Runtime, user: User, meeting: EventType, admin: User, book: Book) -> Arguments:
    """Arguments with which each tool succeeds."""
    bookings = [(await book(f"2026-03-16T{hour}:00:00Z")).json()["bookingId"] for hour in (10, 12)]
    contact = await runtime.pool.fetchval("select id from contacts")
    async with runtime.transaction(OPERATOR) as work:
        other = await people.welcome_user(work, UserWanted(email="spam@example.org", name="Spam"))
    whose: dict[str, object] = {"userId": str(user.id)}
    flag: dict[str, object] = {"key": "booking_holds"}
    return {
        "get_kpi_dashboard": {"period": "90d"},
        "get_revenue": {"granularity": "month"},
        "get_traffic": {"source": "direct"},
        "get_booking_metrics": {"eventTypeId": str(meeting.id)},
        "get_signup_funnel": {},
        "get_retention": {"cohort": "month"},
        "get_plan_distribution": {},
        "get_top_event_types": {"limit": 5},
        "get_messaging_metrics": {"channel": "email"},
        "list_flags": {},
        "get_flag": flag,
        "check_flag": flag | whose,
        "toggle_flag": flag | {"enabled": False},
        "set_flag_override": flag | whose | {"enabled": True},
        "remove_flag_override": flag | whose,
        "get_cron_health": {},
        "get_system_status": {},
        "run_system_tests": {"suite": "database"},
        "set_messaging_kill_switch": {"enabled": True, "reason": "wrong texts"},
        "search_audit_log": {},
        "list_users": {},
        "get_user": whose,
        "get_user_activity": whose,
        "get_user_settings": whose,
        "change_user_plan": whose | {"plan": "BUSINESS", "reason": "Upgrade"},
        "update_user_settings": whose | {"settings": {"locale": "de"}},
        "disable_user": {"userId": str(other.id), "reason": "Spam"},
        "list_bookings": {},
        "get_booking": {"bookingId": bookings[0]},
        "cancel_booking": {"bookingId": bookings[0]},
        "reschedule_booking": {"bookingId": bookings[1], "newStartTime": "2026-03-16T14:00:00Z"},
        "list_contacts": {},
        "get_contact": {"contactId": str(contact)},
        "update_contact_metadata": {"contactId": str(contact), "metadata": {"company": "Okafor"}},
        "list_event_types": {},
        "get_event_type": {"eventTypeId": str(meeting.id)},
        "check_availability": {"eventTypeId": str(meeting.id), "timezone": "UTC"},
        "check_budget": {},
        "check_global_budget": {},
        "search_files": {"query": "class Refusal"},
        "read_file": {"path": "openslot/app.py"},
        "list_directory": {},
        "get_history": {},
        "send_email": {"category": "internal", "to": admin.email, "subject": "Report", "text": "All is well."},
        "generate_image": {"prompt": "A lighthouse at dawn"},
    }


def outcome(answer: dict[str, Any]) -> int | str:
    """Tell what became of a call: an error's code, or whether the tool ran."""
    if "error" in answer:
        code: int = answer["error"]["code"]
        return code
    return "failed" if answer["result"]["isError"] else "ran"


def expected(cell: str, confirm: object) -> int | str:
    """Tell what the specification says about a call in a cell."""
    if cell == ".":
        return -32011
    if cell == "L":
        return -32017
    if cell == "r":
        return "ran" if confirm is ABSENT else "failed"
    if confirm is not True:
        return -32012
    return -32013 if cell == "a" else "ran"


@EACH_AGENT
async def test_every_cell_is_what_the_specification_says(enter: Connect, arguments: Arguments, agent: str) -> None:
    caller = await enter(agent)
    place = AGENTS.index(agent)
    wrong = []
    for row in some(TABLE, daily=DAILY, offset=place):
        for confirm in CONFIRMS if row.cells[place] in NEED_CONFIRM else (ABSENT, True):
            given = arguments[row.tool] | ({} if confirm is ABSENT else {"confirm": confirm})
            answer = await caller.call(row.tool, **given)
            if outcome(answer) != expected(row.cells[place], confirm):
                wrong.append((row.tool, confirm, answer))

    assert wrong == []


@pytest.mark.parametrize("agent", [slug for slug, level in LEVELS.items() if level == "L0"])
async def test_an_agent_that_is_raised_to_l1_may_write_within_its_scopes(
    enter: Connect, runtime: Runtime, arguments: Arguments, agent: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await operations.set_level(work, agent, Level.L1)
    caller = await enter(agent)
    opened = [row for row in TABLE if row.cells[AGENTS.index(agent)] == "L"]
    for row in opened:
        assert outcome(await caller.call(row.tool, **arguments[row.tool])) == -32012
        assert outcome(await caller.call(row.tool, **arguments[row.tool], confirm=True)) == "ran"

    assert {row.tool for row in opened} == RAISED.get(agent, set())


@EACH_AGENT
async def test_when_the_budget_is_used_up_what_costs_is_refused_and_nothing_else(
    enter: Connect, runtime: Runtime, arguments: Arguments, agent: str
) -> None:
    await budget.report(runtime, agent, 50_000_000)
    caller = await enter(agent)
    place = AGENTS.index(agent)
    wrong = []
    for row in some(TABLE, daily=DAILY, offset=3):
        cell = row.cells[place]
        confirm: dict[str, object] = {} if cell == "r" else {"confirm": True}
        answer = await caller.call(row.tool, **arguments[row.tool], **confirm)
        is_costly = row.tool in COSTLY and cell in NEED_CONFIRM
        if outcome(answer) != (-32014 if is_costly else expected(cell, confirm.get("confirm", ABSENT))):
            wrong.append((row.tool, answer))

    assert wrong == []


@EACH_AGENT
async def test_an_agent_is_shown_the_tools_of_its_scopes(enter: Connect, user: User, agent: str) -> None:
    del user
    caller = await enter(agent)
    place = AGENTS.index(agent)

    listed = await caller.ask("tools/list")

    assert [tool["name"] for tool in listed["result"]["tools"]] == [
        row.tool for row in TABLE if row.cells[place] != "."
    ]


@pytest.mark.parametrize(
    "row",
    [row for row in TABLE if row.tier == "T3"],
    ids=lambda row: row.tool,
)
@pytest.mark.parametrize(("decision", "result"), [("approve", "done"), ("reject", "rejected")])
async def test_a_call_that_needs_an_approval_runs_once_it_is_approved(
    enter: Connect,
    orchestrator: TestAgent,
    runtime: Runtime,
    arguments: Arguments,
    row: Row,
    decision: str,
    result: str,
) -> None:
    place = row.cells.index("a")
    requester = await enter(AGENTS[place])
    before = await _state(runtime)
    asked = await requester.call(row.tool, **arguments[row.tool], confirm=True)
    assert outcome(asked) == -32013
    assert await _state(runtime) == before
    decided = {"confirm": True, "approvalId": asked["error"]["data"]["approvalId"], "decision": decision}

    told = await orchestrator.call(row.tool, **arguments[row.tool], **decided)

    assert told["result"]["structuredContent"]["outcome"] == result
    assert (await _state(runtime) != before) is (decision == "approve")
    again = {"confirm": True, "approvalId": decided["approvalId"]}
    repeated = await requester.call(row.tool, **arguments[row.tool], **again)
    assert outcome(repeated) == ("ran" if decision == "approve" else -32018)
    if decision == "approve":
        assert repeated["result"]["structuredContent"] == told["result"]["structuredContent"]


async def _state(runtime: Runtime) -> list[tuple[object, ...]]:
    """Read what tools of tier T3 can change."""
    users = await runtime.pool.fetch("select id, plan, disabled_at from users order by id")
    bookings = await runtime.pool.fetch("select id, status from bookings order by id")
    switches = await runtime.pool.fetch("select channel, stopped_at from switches order by channel")
    return [tuple(row.values()) for row in (*users, *bookings, *switches)]


async def test_the_answers_text_repeats_its_content(orchestrator: TestAgent, arguments: Arguments) -> None:
    for row in TABLE:
        if row.tier == "T1":
            answer = await orchestrator.call(row.tool, **arguments[row.tool])
            content = answer["result"]["content"]
            assert [each["type"] for each in content] == ["text"]
            assert httpx2.Response(200, text=content[0]["text"]).json() == answer["result"]["structuredContent"]
