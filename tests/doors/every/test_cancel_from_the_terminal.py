"""Commands cancel as all other doors do; they have the real clock, so the booking is in the days to come."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.doors.every.checks import check_cancelled
from tests.doors.every.ways import Installation
from tests.support.clocks import real_clock as clock
from tests.support.command_line import Cli

__all__ = ["clock"]


@pytest.fixture
def start() -> str:
    """The second Monday from now on, which is neither today nor too far away to be booked."""
    today = datetime.now(UTC).date()
    return f"{today + timedelta(days=14 - today.weekday())}T10:00:00Z"


async def test_a_command_that_disables_a_user_cancels(
    installation: Installation, booking: dict[str, Any], cli: Cli
) -> None:
    await asyncio.to_thread(cli, "user", "disable", installation.user.email)
    await asyncio.to_thread(cli, "user", "enable", installation.user.email)

    await check_cancelled(installation.client, installation.bearer, installation.runtime, booking, by="operator")


async def test_a_command_that_removes_a_member_cancels(
    installation: Installation, booking: dict[str, Any], cli: Cli
) -> None:
    organization, _ = await installation.join()
    await asyncio.to_thread(cli, "organization", "member", "remove", organization.slug, installation.user.email)

    await check_cancelled(installation.client, installation.bearer, installation.runtime, booking, by="operator")
