"""Schedules by their verbs: what is refused changes nothing."""

from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.errors import ScheduleNotFound
from openslot.domains.schedules.models import OutOfOffice
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime


async def test_a_schedule_is_deleted_once(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for _ in range(2):
            spare = await schedules.add_schedule(work, user)
        await schedules.delete_schedule(work, spare)
        with pytest.raises(ScheduleNotFound):
            await schedules.delete_schedule(work, spare)
        assert len(await schedules.list_schedules(work, user)) == 2


async def test_time_away_that_ends_before_it_begins_is_refused(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(Invalid) as refused:
            await schedules.add_out_of_office(work, user, OutOfOffice(work.now, work.now - timedelta(hours=1)))
        assert refused.value.faults == {"to": "must be later than from"}
        assert await work.db.fetchval("select count(*) from out_of_office") == 0
