"""The audit chain: an edited, deleted or exchanged record and a cut tail are found, and named."""

from collections.abc import Sequence
from typing import Any

import pytest

from openslot.doors.agents.audit import operations as audit
from openslot.doors.agents.audit.operations import extend, follows, is_intact, verify
from openslot.doors.agents.models import ChainEnd
from openslot.platform.core.ids import Signer
from openslot.platform.core.work import Runtime
from tests.doors.agents.support import record
from tests.support.agent import TestAgent

SIGNER = Signer(("k" * 40,))


async def keep(runtime: Runtime, count: int) -> None:
    """Keep so many records, one by one."""
    for no in range(count):
        await audit.keep_record(runtime, record(f"tool_{no + 1}"))


async def find_faults(runtime: Runtime) -> list[int]:
    """Verify the chain and return the numbers that are wrong."""
    return [each.no for each in (await verify(runtime)).faults]


def test_each_record_follows_the_one_before() -> None:
    links, end = extend(SIGNER, ChainEnd(), [record(), record(), record()])

    assert [link.no for link in links] == [1, 2, 3]
    assert (end.records, end.last) == (3, links[2].signature)
    assert is_intact(SIGNER, end)
    assert all(follows(SIGNER, link, previous) for link, previous in zip(links, _before(links), strict=True))
    assert not follows(SIGNER, links[2], links[0].signature)


def _before(links: Sequence[Any]) -> list[bytes]:
    return [b"", *(link.signature for link in links[:-1])]


def test_another_installation_can_not_write_the_chain() -> None:
    stranger = Signer(("s" * 40,))
    links, end = extend(stranger, ChainEnd(), [record()])

    assert not is_intact(SIGNER, end)
    assert not follows(SIGNER, links[0], b"")


@pytest.mark.parametrize(
    "end", [ChainEnd(records=1), ChainEnd(last=b"x"), ChainEnd(records=3, last=b"x", signature=b"y")]
)
def test_an_end_that_is_not_ours_is_noticed_and_what_follows_it_can_not_be_verified(end: ChainEnd) -> None:
    links, after = extend(SIGNER, end, [record()])

    assert not is_intact(SIGNER, end)
    assert not follows(SIGNER, links[0], end.last)
    assert is_intact(SIGNER, after)


async def test_an_untouched_chain_is_intact(orchestrator: TestAgent, runtime: Runtime) -> None:
    for tool in ("check_budget", "no_such_tool", "check_global_budget"):
        await orchestrator.call(tool)
    await keep(runtime, 3)
    verified = await verify(runtime)

    assert (verified.records, verified.faults) == (6, ())


async def test_an_empty_chain_is_intact(runtime: Runtime) -> None:
    assert (await verify(runtime)).faults == ()


EXCHANGED = """
update agent_calls set no = case no when 2 then -3 else -2 end where no in (2, 3);
update agent_calls set no = -no where no < 0"""
CONTENTS_EXCHANGED = """
update agent_calls a set tool = b.tool from agent_calls b where a.no in (2, 3) and b.no = 5 - a.no"""
DELETED_AND_MOVED_UP = """
delete from agent_calls where no = 2;
update agent_calls set no = -no where no > 2;
update agent_calls set no = -no - 1 where no < 0;
update agent_chain set records = 4"""
CUT_WITH_ITS_END = """
delete from agent_calls where no > 3;
update agent_chain set records = 3, last = (select signature from agent_calls where no = 3)"""
CUT_WITH_ITS_END_AS_IF_NEW = CUT_WITH_ITS_END + "; update agent_chain set signature = null"
ADDED = """
insert into agent_calls
select (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'no', 6))).*
from agent_calls a where no = 5"""

ADDED_IN_FRONT = """
insert into agent_calls
select (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'no', n))).*
from agent_calls a, unnest(array[0, -9223372036854775808]) n where a.no = 5"""


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        ("update agent_calls set status = 'ok', error_code = 1 where no = 3", [3]),
        ("update agent_calls set agent = 'cto' where no = 1", [1]),
        ("update agent_calls set at = at + interval '1 microsecond' where no = 5", [5]),
        ("update agent_calls set latency_ms = 4, cost_micros = 1 where no in (2, 4)", [2, 4]),
        ("update agent_calls set signature = sha256('x') where no = 3", [3, 4]),
        ("delete from agent_calls where no = 3", [3]),
        ("delete from agent_calls where no in (2, 3)", [2]),
        ("delete from agent_calls where no = 1", [1]),
        ("delete from agent_calls where no = 5", [5]),
        ("delete from agent_calls where no > 2", [5]),
        ("delete from agent_calls", [5]),
        (EXCHANGED, [2, 3, 4]),
        (CONTENTS_EXCHANGED, [2, 3]),
        (DELETED_AND_MOVED_UP, [2, 3, 4, 4]),
        (CUT_WITH_ITS_END, [3]),
        (CUT_WITH_ITS_END_AS_IF_NEW, [3]),
        ("update agent_chain set records = 7", [7, 7]),
        ("update agent_chain set last = sha256('x')", [5, 5]),
        ("update agent_chain set signature = null", [5]),
        ("delete from agent_chain", [6]),
        (ADDED, [6, 6]),
        (ADDED_IN_FRONT, [-(2**63), 0]),
        ("update agent_calls set status = 'forgiven' where no = 3", [3]),
        ("update agent_calls set at = 'infinity' where no = 3", [3]),
        ("update agent_calls set at = '20000-01-01' where no = 3", [3]),
        ("update agent_calls set at = '0044-03-15 BC' where no = 3", [3]),
    ],
)
async def test_tampering_is_found_and_named(runtime: Runtime, tampering: str, found: list[int]) -> None:
    await keep(runtime, 5)
    await runtime.pool.execute(tampering)

    assert await find_faults(runtime) == found


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_cut_tail_still_shows_after_more_was_recorded(runtime: Runtime, *, is_known: bool) -> None:
    await keep(runtime, 5)
    await runtime.pool.execute("delete from agent_calls where no > 3")
    await runtime.pool.execute(
        "update agent_chain set records = 3, last = (select signature from agent_calls where no = 3)"
    )
    if not is_known:
        runtime.one(audit.CachedChainEnd).end = None
    await keep(runtime, 2)

    assert await find_faults(runtime) == [4]


async def test_a_noted_end_proves_that_the_chain_was_not_replaced_by_an_older_copy(runtime: Runtime) -> None:
    await keep(runtime, 3)
    older = await runtime.pool.fetchrow("select records, last, signature from agent_chain")
    await keep(runtime, 2)
    noted = await verify(runtime)
    await runtime.pool.execute("delete from agent_calls where no > 3")
    assert older is not None
    await runtime.pool.execute("update agent_chain set records = $1, last = $2, signature = $3", *older.values())

    assert await find_faults(runtime) == []
    checked = await verify(runtime, noted=(noted.records, noted.end or ""))
    assert [each.fault for each in checked.faults] == ["is not the record that was noted"]


async def test_the_chain_outlives_a_rotation_of_the_keys(runtime: Runtime) -> None:
    old, new = "o" * 40, "n" * 40
    links, end = extend(Signer((old,)), ChainEnd(), [record()])
    rotated = Signer((new, old))

    assert is_intact(rotated, end)
    assert follows(rotated, links[0], b"")
    more, _ = extend(rotated, end, [record()])
    assert follows(rotated, more[0], links[0].signature)
