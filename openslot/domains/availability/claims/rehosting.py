"""How the claims of a booking get another time or another host: under the locks of all who give or take one."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.availability.claims import store
from openslot.domains.availability.claims.choosing import choose_hosts, give, list_free, pair
from openslot.domains.availability.claims.taking import claimed
from openslot.domains.availability.claims.tries import Lost, judge_again, list_lost, trying
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import Claimed, ClaimedHost, SlotContext
from openslot.platform.core.events import make_changes
from openslot.platform.core.work import Work


async def move_hosts(work: Work, found: SlotContext, starts_at: datetime, hosts: Sequence[ClaimedHost]) -> Claimed:
    """Move the claims of a booking to a time: of one host in the statement of the booking, of chosen hosts at once.

    The chosen stay who are free then; for the others somebody else is chosen, or it is refused, as the team says.
    """
    if not found.has_team:
        work.stage(store.move_claims(found.inputs, starts_at, hosts))
        return claimed(found, starts_at, tuple(hosts))
    free = list_free(found, starts_at)
    leaving = [each for each in hosts if each.host_no not in free]
    if leaving and not found.inputs.choice.rules.picks_anew:
        raise SlotUnavailable
    return await rehost(work, found, starts_at, hosts, leaving, is_moved=True)


async def rehost(
    work: Work,
    found: SlotContext,
    starts_at: datetime,
    hosts: Sequence[ClaimedHost],
    leaving: Sequence[ClaimedHost],
    *,
    is_moved: bool,
    named: UUID | None = None,
) -> Claimed:
    """Move the claims of a booking to a time, and those of hosts who can't or shall not host it to others.

    Hosts who stay are judged only if the booking moves.
    """
    staying = {each.user_id for each in hosts if each not in leaving}
    picks: dict[UUID, int] = {}
    for each in leaving:
        if each.group_id is None:
            raise SlotUnavailable
        picks[each.group_id] = picks.get(each.group_id, 0) + 1
    free, lost = list_free(found, starts_at), {each.user_id for each in hosts}
    while True:
        chosen = choose_hosts(found, free, picks, without=lost, named=named)
        if chosen is None:
            raise SlotUnavailable
        replaced = pair(leaving, chosen)
        new = {each.user_id: each for group in chosen for each in group.asked.candidates}
        now = tuple(give(found, each, new[replaced[each.user_id]]) if each in leaving else each for each in hosts)
        judged = now if is_moved else [each for each in now if each.user_id not in staying]
        try:
            async with trying(work, (*judged, *hosts)):
                await judge_again(work, found, [starts_at], judged, without=hosts)
                await make_changes(work.db, [store.move_claims(found.inputs, starts_at, now)])
        except (Lost, SlotUnavailable) as fault:
            gone = await list_lost(work, fault, found, [starts_at], judged)
            if not gone.isdisjoint(staying):
                raise SlotUnavailable from None
            lost |= gone
            continue
        return claimed(found, starts_at, now, chosen=chosen, replaced=replaced)
