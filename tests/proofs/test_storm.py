"""The count after a storm notices what is missing and what is doubled."""

from uuid import UUID

import pytest

from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from proofs.scene import welcome
from proofs.storm import count_bookings
from tests.support.killable import list_starts

pytestmark = pytest.mark.daily

Acknowledged = dict[str, UUID]


@pytest.fixture
async def acknowledged(runtime: Runtime) -> Acknowledged:
    """Three guests of one host, each with a booking."""
    user, _ = await welcome(runtime, "ada")
    booked = {}
    for number, start in enumerate(await list_starts(runtime, user.id, 3)):
        guest = f"gus{number}@okafor.example"
        invitee = Invitee(name="Gus", email=guest, zone="UTC")
        wanted = BookingWanted(which=BySlug(user.id, "short"), starts_at=start, invitee=invitee)
        async with runtime.transaction(OPERATOR) as work:
            booked[guest] = (await bookings.create_booking(work, wanted)).id
    return booked


async def list_broken(runtime: Runtime, acknowledged: Acknowledged) -> dict[str, float | str]:
    """Name the figures that are not as they must be."""
    figures = await count_bookings(runtime.settings.database_url or "", acknowledged)
    return {figure.name: figure.value for figure in figures if not figure.is_kept}


async def test_what_was_acknowledged_and_is_there_once_is_as_it_must_be(
    runtime: Runtime, acknowledged: Acknowledged
) -> None:
    assert await list_broken(runtime, acknowledged) == {}


async def test_a_missing_booking_is_noticed(runtime: Runtime, acknowledged: Acknowledged) -> None:
    assert await list_broken(runtime, acknowledged | {"lost@okafor.example": new_id()}) == {"missing": 1}

    await runtime.pool.execute(
        "update bookings set status = 'CANCELLED', cancelled_at = now() where id = $1",
        acknowledged["gus1@okafor.example"],
    )
    assert await list_broken(runtime, acknowledged) == {"missing": 1}


async def test_a_booking_that_nobody_was_told_about_is_noticed(runtime: Runtime, acknowledged: Acknowledged) -> None:
    del acknowledged["gus1@okafor.example"]

    assert await list_broken(runtime, acknowledged) == {"found but never acknowledged": 1}


@pytest.mark.own_database
async def test_a_doubled_booking_is_noticed(runtime: Runtime, acknowledged: Acknowledged) -> None:
    first, second, _ = acknowledged.values()
    await runtime.pool.execute("update bookings set invitee_email = 'gus0@okafor.example' where id = $1", second)
    assert await list_broken(runtime, acknowledged) == {"doubled: guests with two bookings": 1}

    await runtime.pool.execute(
        "update bookings b set starts_at = f.starts_at from bookings f where f.id = $1 and b.id = $2", first, second
    )
    await runtime.pool.execute("alter table claims drop constraint claims_never_overlap")
    await runtime.pool.execute(
        """update claims c set starts_at = o.starts_at, ends_at = o.ends_at, during = o.during from claims o
           where o.id = (select claim_id from bookings where id = $1)
             and c.id = (select claim_id from bookings where id = $2)""",
        first,
        second,
    )
    assert await list_broken(runtime, acknowledged) == {
        "doubled: guests with two bookings": 1,
        "doubled: starts booked twice": 1,
        "doubled: claims that overlap": 1,
    }
