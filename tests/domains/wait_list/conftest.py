"""A Monday morning in March 2026, and a meeting that takes all of Tuesday."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock
from tests.support.wait_list import offer_day

__all__ = ["clock"]


@pytest.fixture
async def day(runtime: Runtime, user: User) -> EventType:
    """A meeting that takes a whole day, with a wait list."""
    return await offer_day(runtime, user)
