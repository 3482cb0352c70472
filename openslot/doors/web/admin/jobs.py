"""Pages: deferred work: workers, effects that are not finished, and jobs that run by the clock."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from croniter import croniter

from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction
from openslot.doors.web.admin.change_log import log_platform
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.revivals import Revival, RevivalVerdict, revive_effects
from openslot.platform.core.work import Periodic, Work
from openslot.platform.i18n import PluralText, Text, say
from openslot.platform.jobs.health import PeriodicRun, count_effects, count_workers, list_runs, list_unfinished
from openslot.platform.routing import Request, Response, get, post

MAX_DEAD = 100
LATE_AFTER = timedelta(minutes=5)
RUNS = {
    "running": (Text("Running"), "wait"),
    "ok": (Text("Done"), "good"),
    "failed": (Text("Failed"), "bad"),
    "late": (Text("Late"), "bad"),
    "never": (Text("Not yet"), "wait"),
}
NOTICES: dict[str, Text] = {
    RevivalVerdict.QUEUED: Text("It will be retried now."),
    RevivalVerdict.SKIPPED: Text("Not retried: a later change replaced it."),
    RevivalVerdict.LEFT: Text("Not retried: a later change is in progress. Try again soon."),
}


@get("/admin/jobs")
async def show_jobs(request: Request, work: Work, user: User) -> Response:
    counts = await count_effects(work.db, now=work.now)
    dead = await list_unfinished(work.db, "dead", limit=MAX_DEAD)
    runs = {run.name: run for run in await list_runs(work.db)}
    periodic = sorted(work.runtime.wiring.periodic, key=lambda job: job.name)
    done = request.query.get("done", "")
    return page(
        "admin/jobs.html",
        user,
        here="/admin/jobs",
        notice=_all_notice(request) if done == "all" else NOTICES.get(done),
        workers=await count_workers(work.db),
        counts=counts,
        dead=[(each, say(each.last_error or "—")) for each in dead],
        jobs=[_describe_job(each, runs.get(each.name), now=work.now) for each in periodic],
    )


@post("/admin/jobs/effects/{effect_id}/retry", transaction="none")
async def retry_effect(request: Request, work: Work, user: User, effect_id: UUID) -> Response:
    """Try a dead effect again, unless a later one has taken its place."""
    revivals = await revive_effects(work, [effect_id])
    await _log(work, request, user, str(effect_id), revivals)
    return redirect(f"/admin/jobs?done={revivals[0].verdict}" if revivals else "/admin/jobs")


@post("/admin/jobs/effects/retry", transaction="none")
async def retry_all_effects(request: Request, work: Work, user: User) -> Response:
    """Try every dead effect again, except those that a later one has replaced."""
    revivals = await revive_effects(work, None)
    await _log(work, request, user, "*", revivals)
    queued = sum(revival.verdict is RevivalVerdict.QUEUED for revival in revivals)
    return redirect(f"/admin/jobs?done=all&tried={queued}&left={len(revivals) - queued}")


async def _log(work: Work, request: Request, user: User, subject: str, revivals: list[Revival]) -> None:
    tried = sum(revival.verdict is RevivalVerdict.QUEUED for revival in revivals)
    async with work.transaction():
        await log_platform(work, request, user, ChangeAction.EFFECTS_RETRIED, subject, after={"tried": tried})


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


def _describe_job(
    job: Periodic, run: PeriodicRun | None, *, now: datetime
) -> tuple[Periodic, PeriodicRun | None, datetime, tuple[Text, str]]:
    upcoming = datetime.fromtimestamp(croniter(job.expression, now).get_next(), UTC)
    return job, run, upcoming, RUNS[_state(run, job.expression, now=now)]


def _state(run: PeriodicRun | None, expression: str, *, now: datetime) -> str:
    if run is None:
        return "never"
    due = datetime.fromtimestamp(croniter(expression, run.started_at).get_next(), UTC)
    return "late" if run.status != "running" and now - due > LATE_AFTER else run.status
