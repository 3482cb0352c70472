"""Tools: how the installation runs."""

import asyncio
from typing import Annotated, Literal

from msgspec import Meta, Struct

from openslot import __version__
from openslot.domains.doctor import system_tests
from openslot.domains.doctor.finding import Finding, FindingState, find_worst, problem
from openslot.domains.doctor.running import examine_running
from openslot.domains.doctor.system_tests import PartResult, SystemPart
from openslot.doors.agents.models import Tier
from openslot.doors.agents.registry import about, tool
from openslot.doors.agents.schemas import Decided
from openslot.doors.mcp.tools import naming
from openslot.platform.core.errors import NotFound
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import LINE
from openslot.platform.core.times import Instant, iso
from openslot.platform.core.work import Work
from openslot.platform.flags.models import ChannelStatus, OutgoingChannel
from openslot.platform.flags.switches.operations import LONGEST_REASON, resume_messaging, stop_messaging
from openslot.platform.jobs.health import PeriodicHealth, PeriodicState, count_workers, list_health

CHECKED_WITHIN = 30.0
"""Seconds."""


class CronJob(Struct, frozen=True, kw_only=True, rename="camel"):
    """A periodic job and its last run."""

    job: str
    expression: Annotated[str, Meta(description="When it is due: a cron expression in UTC", examples=["*/5 * * * *"])]
    state: Annotated[
        PeriodicState,
        Meta(description="late: due for more than 5 minutes; failed: the last run did"),
    ]
    last_started_at: Instant | None
    lateness_ms: Annotated[int | None, Meta(description="How long after it was due the last run began")]
    result: Annotated[str | None, Meta(description="What the last run did, or why it failed")]
    next_due_at: Instant


class CronHealth(Struct, frozen=True, kw_only=True, rename="camel"):
    """Periodic jobs, and who runs them."""

    data: list[CronJob]
    workers: Annotated[int, Meta(description="Workers that have reported in the last 30 seconds; 0: no job runs")]
    is_healthy: Annotated[bool, Meta(description="Whether a worker runs and none of these jobs is late or failed")]


class SystemFinding(Struct, frozen=True, kw_only=True):
    """One thing that was checked."""

    name: Annotated[str, Meta(examples=["mail"])]
    state: FindingState
    meaning: str
    fix: Annotated[str | None, Meta(description="The command or step that fixes it")]


class SystemStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the doctor finds."""

    state: Annotated[FindingState, Meta(description="The worst of all findings")]
    version: str
    checked_at: Instant
    findings: list[SystemFinding]


class SystemTest(Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of one test."""

    name: SystemPart
    ok: bool
    duration_ms: int
    message: Annotated[str, Meta(examples=["A worker has taken an effect and finished it."])]


class SystemTests(Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of the tests."""

    ok: Annotated[bool, Meta(description="Whether every test has succeeded")]
    tested_at: Instant
    data: list[SystemTest]


class MessagingChannel(Struct, frozen=True, kw_only=True, rename="camel"):
    """A channel of outgoing messages, and whether it is stopped."""

    channel: OutgoingChannel
    is_stopped: bool
    stopped_at: Instant | None
    stopped_by: Annotated[str | None, Meta(description="An agent's or an administrator's name, or terminal")]
    reason: str | None
    waiting: Annotated[int, Meta(description="How many messages wait until the channel is resumed")]


class SwitchedMessaging(Decided, frozen=True, kw_only=True, rename="camel"):
    """How every channel stands after the change."""

    channels: tuple[MessagingChannel, ...] = ()


_show_finding = Shape(SystemFinding, Finding).show
_show_test = Shape(SystemTest, PartResult).show


@tool(scope="infra:read")
async def get_cron_health(
    work: Work,
    *,
    job: Annotated[
        Annotated[str, Meta(pattern=LINE, max_length=100)] | None, Meta(description="Only this job; all if left out")
    ] = None,
) -> CronHealth:
    """Get how the periodic jobs stand: when each last ran, what came of it, and which are late, failing or never ran.

    Use it when reminders, cleanups or synchronizations seem to stop. A job that has never run is normal until it is
    due for the first time. It costs nothing and changes nothing.
    """
    found = await list_health(work.db, work.runtime.wiring.periodic, now=work.now)
    shown = [_show_job(each) for each in found if job is None or each.name == job]
    if not shown:
        with naming("job"):
            raise NotFound("There is no periodic job with this name")
    workers = await count_workers(work.db)
    is_healthy = workers > 0 and not any(each.state in {"late", "failed"} for each in shown)
    return CronHealth(data=shown, workers=workers, is_healthy=is_healthy)


@tool(scope="infra:read", reaches_outside=True)
async def get_system_status(work: Work) -> SystemStatus:
    """Get what `openslot doctor` finds: database, migrations, workers, effects, disk, mail, address, backups and more.

    Use it first when something does not work; each finding says what is wrong and how to fix it. It connects to the
    mail server and the sign-in provider without sending anything, and takes up to 30 seconds. It costs nothing and
    changes nothing.
    """
    try:
        findings = await asyncio.wait_for(examine_running(work.runtime), CHECKED_WITHIN)
    except TimeoutError:
        findings = [problem("doctor", "The checks did not end within 30 seconds.", "openslot doctor")]
    shown = [_show_finding(each) for each in findings]
    return SystemStatus(state=find_worst(findings), version=__version__, checked_at=iso(work.now), findings=shown)


@tool(scope="infra:write", tier=Tier.T2, transaction="none", reaches_outside=True)
async def run_system_tests(
    work: Work,
    *,
    suite: Annotated[
        Literal["all", "database", "queue", "mail", "calendars", "clock"], Meta(description="Which part to test")
    ] = "all",
) -> SystemTests:
    """Test parts of the running installation for real: database, queue, mail transport, calendars and clock.

    Use it when get_system_status finds nothing and something still does not work, or after an upgrade. It writes a row
    and rolls it back, has a worker carry out an effect that does nothing, signs in to the mail server and to up to 10
    connected calendars without sending or changing anything, and compares the clocks. Each test takes at most 20
    seconds and leaves nothing behind. It needs confirm: true and costs nothing.
    """
    parts = tuple(SystemPart) if suite == "all" else (SystemPart(suite),)
    found = await system_tests.run_system_tests(work.runtime, parts)
    shown = [_show_test(each) for each in found]
    return SystemTests(ok=all(each.ok for each in found), tested_at=iso(work.now), data=shown)


@tool(scope="infra:write", tier=Tier.T3, target=about("channel", "channel"), is_destructive=True, reaches_outside=True)
async def set_messaging_kill_switch(
    work: Work,
    *,
    enabled: Annotated[bool, Meta(description="true: stop outgoing messages; false: resume them")],
    channel: Annotated[
        Literal["all", "sms", "whatsapp", "voice", "email"],
        Meta(description="all: SMS, WhatsApp and voice; email is stopped by its own name only"),
    ] = "all",
    reason: Annotated[str, Meta(pattern=LINE, min_length=1, max_length=LONGEST_REASON, description="Why, in one line")],
) -> SwitchedMessaging:
    """Stop outgoing messages of a channel at once, in every process, or resume them.

    Use it if messages go out that should not. What is stopped waits, and is sent in order when the channel is resumed,
    unless it has lost its meaning by then, such as a reminder of a past meeting. Security email, such as codes and
    password resets, is always sent. A channel that is stopped already stays as it is. The team chat is told who did it
    and why. It needs confirm: true and an approval by the Orchestrator. It costs nothing.
    """
    change = stop_messaging if enabled else resume_messaging
    found = await change(work, channel, reason=reason)
    return SwitchedMessaging(channels=tuple(_show_channel(each) for each in found))


def _show_channel(found: ChannelStatus) -> MessagingChannel:
    stop = found.stop
    return MessagingChannel(
        channel=found.channel,
        is_stopped=stop is not None,
        stopped_at=iso(stop.at) if stop is not None else None,
        stopped_by=stop.name if stop is not None else None,
        reason=stop.reason if stop is not None else None,
        waiting=found.waiting,
    )


def _show_job(found: PeriodicHealth) -> CronJob:
    run = found.run
    return CronJob(
        job=found.name,
        expression=found.expression,
        state=found.state,
        last_started_at=iso(run.started_at) if run is not None else None,
        lateness_ms=run.lateness_ms if run is not None else None,
        result=run.result if run is not None else None,
        next_due_at=iso(found.next_due_at),
    )
