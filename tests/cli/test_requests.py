"""Requests at the terminal: confirmed and declined on behalf of their host."""

import asyncio

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.errors import RequestNotFound, RequestNotOpen
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import AT, LATER, book
from tests.support.clocks import clock
from tests.support.command_line import Cli

__all__ = ["clock"]


async def test_an_operator_confirms_and_declines(cli: Cli, runtime: Runtime, user: User) -> None:
    asked = await offer(runtime, user, "asked", requires_confirmation=True)
    first, second = await book(runtime, asked, AT), await book(runtime, asked, LATER)
    # The command reads the clock of the machine.
    await runtime.pool.execute("update booking_requests set lapses_at = now() + interval '1 day'")

    confirmed = await asyncio.to_thread(cli, "booking", "confirm", str(first.id), "--json")
    text = await asyncio.to_thread(cli, "booking", "confirm", str(first.id))
    declined = await asyncio.to_thread(cli, "booking", "decline", str(second.id), "--reason", "Away", "--json")

    assert (confirmed["id"], confirmed["status"]) == (str(first.id), "CONFIRMED")
    assert confirmed["startTime"] < confirmed["endTime"]
    assert str(first.id) in text
    assert (declined["id"], declined["state"], declined["reason"]) == (str(second.id), "declined", "Away")
    for asked_for, refusal in ((second.id, RequestNotOpen), (new_id(), RequestNotFound)):
        with pytest.raises(refusal):
            await asyncio.to_thread(cli, "booking", "confirm", str(asked_for))
    with pytest.raises(Invalid):
        await asyncio.to_thread(cli, "booking", "decline", str(second.id), "--reason", "x" * 501)
