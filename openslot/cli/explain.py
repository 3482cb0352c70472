"""explain: why a start or a day can be booked, or can't, and what would open it."""

from datetime import UTC, date, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from openslot.cli.command import command
from openslot.cli.output import Answer
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.availability import operations
from openslot.domains.availability.explanations import DayExplained, Reason, StartExplained
from openslot.domains.availability.models import BySlug
from openslot.platform.core.errors import Invalid
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work

app = typer.Typer(add_completion=False)


@command(app, "explain")
async def explain(
    work: Work,
    user: Annotated[str, typer.Option(help="The host's email address")],
    event_type: Annotated[str, typer.Option(help="The event type's slug")],
    when: Annotated[str, typer.Argument(help="A date or a start time; without an offset, in the host's time zone")],
    duration: Annotated[
        int | None, typer.Option(help="One of its durations, in minutes; the default if omitted", min=1, max=1440)
    ] = None,
) -> Answer:
    """Explain why a start time or a day can or can't be booked."""
    which = BySlug((await get_user_by_email(work, user)).id, event_type, duration)
    explained: StartExplained | DayExplained
    if len(when) == len("2026-03-16"):
        explained = (await operations.explain_on(work, which, _read_day(when)))[1]
        first = f"{explained.open} of {explained.starts} starts on {explained.on:%A %d %B %Y} are open."
    else:
        schedule = (await operations.explain_on(work, which, work.now.date()))[0].inputs.calendar
        explained = await operations.explain_start_time(work, which, _read_start(when, get_zone(schedule.zone)))
        first = "Closed." if explained.reasons else "Open."
    return Answer(explained, "\n".join([first, *map(_line, explained.reasons)]))


def _line(reason: Reason) -> str:
    count = f" ({reason.closes} starts)" if reason.closes > 1 else ""
    return f"  {reason.sentence}{count}. To open it: {reason.remedy}"


def _read_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid(details={"when": "must be a date, such as 2026-03-16"}) from None


def _read_start(text: str, zone: ZoneInfo) -> datetime:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(details={"when": "must be a date or a start, such as 2026-03-16T10:00"}) from None
    return (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC)
