"""A host in Berlin on a Monday morning, as for the other pages of the dashboard, with one schedule."""

import re
from collections.abc import Awaitable, Callable, Mapping

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import Schedule
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.host import book, clock, member, settings, stranger, user

__all__ = ["book", "clock", "member", "settings", "stranger", "user"]

Ask = Callable[..., Awaitable[str]]


@pytest.fixture
async def schedule(runtime: Runtime, user: User) -> Schedule:
    """The host's schedule: Monday to Friday, nine to five."""
    return await read_schedule(runtime, user)


@pytest.fixture
def ask(member: httpx2.AsyncClient) -> Ask:
    """Ask about a time of the plain meeting; the clock of the tests is at 08:00 on Monday 16 March in Berlin."""

    async def asked(day: str = "2026-03-16", time: str = "11:00", kind: str = "30min") -> str:
        page = await member.get("/availability/why", params={"type": kind, "day": day, "time": time})
        assert page.status_code == 200
        return page.text

    return asked


async def read_schedule(runtime: Runtime, user: User, place: int = 0) -> Schedule:
    """Read one of a host's schedules as it is stored."""
    return (await schedules.list_schedules(runtime.work(OPERATOR), user))[place]


def hidden(page: str, form: str, name: str) -> str:
    """Return a hidden field of one of a page's forms, by the end of the form's address."""
    found = re.search(rf'action="[^"]*{re.escape(form)}".*?name="{name}" value="([^"]*)"', page, re.DOTALL)
    assert found is not None, (form, name)
    return found[1]


async def save_hours(
    member: httpx2.AsyncClient, schedule: Schedule, hours: Mapping[str, str], **changes: str
) -> httpx2.Response:
    """Send the form of the weekly hours as the page has it, with other hours."""
    page = (await member.get(f"/availability/{schedule.id}")).text
    sent = {"act": "save", "version": hidden(page, "/hours#hours", "version"), **hours, **changes}
    return await member.post(f"/availability/{schedule.id}/hours", data=sent)
