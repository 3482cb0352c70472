"""Pages: deferred work: workers, effects that are not finished, and jobs that run by the clock."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from croniter import croniter
from msgspec import Struct

from openslot.accounts.models import User
from openslot.change_log.models import ChangeAction, ChangeAuthor
from openslot.core.revivals import Revival, RevivalVerdict, revive_effects
from openslot.core.work import Periodic, Work
from openslot.i18n import PluralText, Text
from openslot.jobs.health import PeriodicRun, UnfinishedEffect, count_effects, count_workers, list_runs, list_unfinished
from openslot.routing import Request, Response, get, post
from openslot.web import words
from openslot.web.admin.queries import log_platform
from openslot.web.organization.current import author_of
from openslot.web.pages import page, redirect

MAX_DEAD = 100
LATE_AFTER = timedelta(minutes=5)
WORTH_TELLING = timedelta(seconds=10)
RUNS = {
    "running": (Text("Running"), "warn"),
    "ok": (Text("Done"), "good"),
    "failed": (Text("Failed"), "bad"),
    "late": (Text("Late"), "bad"),
    "never": (Text("Not yet"), ""),
}
NOTICES: dict[str, Text] = {
    RevivalVerdict.QUEUED: Text("It will be retried now."),
    RevivalVerdict.SKIPPED: Text("Not retried: a later change replaced it."),
    RevivalVerdict.LEFT: Text("Not retried: a later change is in progress. Try again soon."),
}


class DeadRow(Struct, frozen=True, kw_only=True):
    """An effect that has failed at every try."""

    id: UUID
    reaction: str
    target: str | None
    attempts: int
    last: Text
    error: str | None


class JobRow(Struct, frozen=True, kw_only=True):
    """A job that runs by the clock."""

    name: str
    expression: str
    state: Text
    tone: str
    last: object
    next: Text
    late: Text | None
    """How late the last run began."""
    result: str | None


@get("/admin/jobs")
async def show_jobs(request: Request, work: Work, user: User) -> Response:
    """Show workers, dead effects and jobs."""
    counts = await count_effects(work.db, now=work.now)
    dead = await list_unfinished(work.db, "dead", limit=MAX_DEAD)
    runs = {run.name: run for run in await list_runs(work.db)}
    done = request.query.get("done", "")
    return page(
        "admin/jobs.html",
        user,
        here="/admin/jobs",
        notice=_all_notice(request) if done == "all" else NOTICES.get(done),
        workers=await count_workers(work.db, now=work.now),
        counts=counts,
        dead=[_dead_row(each, user, work) for each in dead],
        jobs=[_job_row(each.name, each.expression, runs.get(each.name), user, work) for each in _periodic(work)],
    )


@post("/admin/jobs/effects/{effect_id}/retry", transaction="none")
async def retry_effect(request: Request, work: Work, user: User, effect_id: UUID) -> Response:
    """Try a dead effect again, unless a later one has taken its place."""
    revivals = await revive_effects(work, [effect_id])
    await _log(work, author_of(request, user), str(effect_id), revivals)
    return redirect(f"/admin/jobs?done={revivals[0].verdict}" if revivals else "/admin/jobs")


@post("/admin/jobs/effects/retry", transaction="none")
async def retry_all_effects(request: Request, work: Work, user: User) -> Response:
    """Try every dead effect again, except those that a later one has replaced."""
    revivals = await revive_effects(work, None)
    await _log(work, author_of(request, user), "*", revivals)
    queued = sum(revival.verdict is RevivalVerdict.QUEUED for revival in revivals)
    return redirect(f"/admin/jobs?done=all&tried={queued}&left={len(revivals) - queued}")


async def _log(work: Work, author: ChangeAuthor, subject: str, revivals: list[Revival]) -> None:
    tried = sum(revival.verdict is RevivalVerdict.QUEUED for revival in revivals)
    async with work.transaction():
        await log_platform(work, author, ChangeAction.EFFECTS_RETRIED, subject, after={"tried": tried})


def _all_notice(request: Request) -> Text:
    tried, left = (request.query.get(name, "")[:6] for name in ("tried", "left"))
    count = int(tried) if tried.isascii() and tried.isdecimal() else 0
    others = int(left) if left.isascii() and left.isdecimal() else 0
    if not others:
        return PluralText("%(count)s step will be retried.", "%(count)s steps will be retried.", count=count)
    return PluralText(
        "%(count)s step will be retried. Replaced by later changes: %(others)s.",
        "%(count)s steps will be retried. Replaced by later changes: %(others)s.",
        count=count,
        others=others,
    )


def _periodic(work: Work) -> list[Periodic]:
    return sorted(work.runtime.wiring.periodic, key=lambda job: job.name)


def _dead_row(effect: UnfinishedEffect, user: User, work: Work) -> DeadRow:
    return DeadRow(
        id=effect.id,
        reaction=effect.reaction,
        target=effect.target or effect.key,
        attempts=effect.attempts,
        last=words.at(effect.next_try_at, user.zone, now=work.now),
        error=effect.last_error,
    )


def _job_row(name: str, expression: str, run: PeriodicRun | None, user: User, work: Work) -> JobRow:
    upcoming = datetime.fromtimestamp(croniter(expression, work.now).get_next(), UTC)
    state, tone = RUNS[_state(run, expression, now=work.now)]
    return JobRow(
        name=name,
        expression=expression,
        state=state,
        tone=tone,
        last=words.moment(run.started_at, user.zone, now=work.now) if run else Text("Not yet"),
        next=words.at(upcoming, user.zone, now=work.now),
        late=_lateness(run) if run else None,
        result=run.result if run else None,
    )


def _lateness(run: PeriodicRun) -> Text | None:
    late = timedelta(milliseconds=run.lateness_ms)
    return Text("%(seconds)s s late", seconds=late // timedelta(seconds=1)) if late >= WORTH_TELLING else None


def _state(run: PeriodicRun | None, expression: str, *, now: datetime) -> str:
    if run is None:
        return "never"
    due = datetime.fromtimestamp(croniter(expression, run.started_at).get_next(), UTC)
    return "late" if run.status != "running" and now - due > LATE_AFTER else run.status
