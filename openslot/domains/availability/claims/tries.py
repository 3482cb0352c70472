"""A try to take the time of chosen hosts: they are locked in order and judged again, and given back if one was lost."""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from openslot.domains.accounts.store import give_back, lock_for_try
from openslot.domains.availability.claims.choosing import list_free
from openslot.domains.availability.claims.expiry.store import expire_holds
from openslot.domains.availability.claims.store import list_taken
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ClaimedHost, SlotContext
from openslot.domains.availability.team_store import reread_hosts
from openslot.platform.core.work import Work


class Lost(Exception):
    """Some of the chosen were taken before they were locked."""

    def __init__(self, hosts: Collection[UUID]) -> None:
        self.hosts = hosts


@asynccontextmanager
async def trying(work: Work, hosts: Iterable[ClaimedHost]) -> AsyncIterator[None]:
    """Lock hosts in order until the commit, or until somebody is lost: then all is undone, and the locks given back."""
    await lock_for_try(work.db, {each.host_no for each in hosts})
    try:
        yield
    except (Lost, SlotUnavailable):
        await give_back(work.db)
        raise


def list_versions(found: SlotContext, hosts: Sequence[ClaimedHost]) -> dict[int, int | None] | None:
    """List which versions of hosts were judged; None if there is more to do than to insert their claims."""
    inputs = found.inputs
    if inputs.choice.changing or any(inputs.hosts[each.host_no].has_stale for each in hosts):
        return None
    return {each.host_no: inputs.choice.versions[each.host_no] for each in hosts}


async def judge_again(
    work: Work,
    found: SlotContext,
    starts: Sequence[datetime],
    hosts: Sequence[ClaimedHost],
    *,
    without: Sequence[ClaimedHost] = (),
) -> None:
    """Judge hosts by what is there now that they are locked, with those whose claims are given up."""
    numbers, changing = [each.host_no for each in hosts], [each.claim_id for each in without]
    again = await reread_hosts(work.db, found, numbers, starts=starts, changing=changing)
    free = list_free(again, *starts)
    # A request that began before a host left, and had to wait, would escape the release of the host's bookings.
    gone = {no for no, host in again.inputs.hosts.items() if host.left_at is not None and host.left_at > work.now}
    lost = [each.user_id for each in hosts if each.host_no not in free or each.host_no in gone]
    if lost:
        raise Lost(lost)
    for no, host in again.inputs.hosts.items():
        if host.has_stale:
            await expire_holds(work.db, no, now=work.now)


async def list_lost(
    work: Work,
    fault: Lost | SlotUnavailable,
    found: SlotContext,
    starts: Sequence[datetime],
    hosts: Sequence[ClaimedHost],
) -> set[UUID]:
    """List whom a try has lost; what the constraint refused was taken by somebody who has not asked for the lock."""
    if isinstance(fault, Lost):
        return set(fault.hosts)
    user_ids = [each.user_id for each in hosts]
    return await list_taken(work.db, user_ids, found.inputs, starts) or set(user_ids)
