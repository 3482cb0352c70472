"""A schedule with all that its pages show."""

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as changes
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import OutOfOffice, Schedule, TimeRange
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.availability.conftest import read_schedule
from tests.support.host import TEN


async def fill(runtime: Runtime, user: User) -> tuple[Schedule, str]:
    """Give a host all that the pages show."""
    schedule = await read_schedule(runtime, user)
    on = TEN.replace(day=20).date()
    async with runtime.transaction(OPERATOR) as work:
        hours = (TimeRange(600, 700),)
        await changes.add_schedule_overrides(work, user, schedule.id, first=on, last=on, hours=hours)
        away = await schedules.add_out_of_office(work, user, OutOfOffice(TEN, TEN.replace(day=18), "Sailing"))
    return schedule, str(away)
