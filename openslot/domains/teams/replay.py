"""The ledger, read again: what it says of each member, whether every choice comes out the same, and what if."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.teams.choice import choose_again, simulate
from openslot.domains.teams.ledger.store import (
    LedgerEntry,
    StoredCredit,
    count_bookings_had,
    list_choices,
    list_choices_made,
    list_credits,
    list_entries,
    list_member_shares,
)
from openslot.domains.teams.models import LastChoice, MemberShare, StoredChoice
from openslot.platform.core.work import Work


class LedgerDifference(Struct, frozen=True, kw_only=True):
    """Something in the ledger that does not come out the same when it is computed again."""

    group_id: UUID
    assignment_id: UUID | None = None
    message: str


class LedgerReplay(Struct, frozen=True, kw_only=True):
    choices: int
    named: int
    """Hosts whom somebody has named, so that there is nothing to compute."""

    credits: int
    differences: tuple[LedgerDifference, ...]

    @property
    def equal(self) -> int:
        """How many choices come out the same."""
        return self.choices - len({each.assignment_id for each in self.differences if each.assignment_id})


class Simulated(Struct, frozen=True, kw_only=True):
    """How many bookings somebody had, and would have had."""

    had: int
    would_have_had: int


async def replay_choices(work: Work, team_id: UUID) -> LedgerReplay:
    """Make every choice of a team's event types again, from what was stored with it, and sum up every credit."""
    choices = await list_choices(work.db, team_id)
    entries = await list_entries(work.db, team_id)
    credits_ = await list_credits(work.db, team_id)
    named = sum(each.asked.is_named for each in choices)
    return LedgerReplay(
        choices=len(choices) - named,
        named=named,
        credits=len(credits_),
        differences=(*check_choices(choices, entries), *check_credits(entries, credits_)),
    )


async def list_shares(work: Work, event_type_id: UUID) -> list[MemberShare]:
    """List who can host an event type at this moment, with their credit and how many of its bookings they had."""
    return await list_member_shares(work.db, event_type_id)


async def list_last_choices(work: Work, event_type_id: UUID, reader: User, *, limit: int) -> list[LastChoice]:
    """List the last choices of hosts for an event type, the newest first."""
    return await list_choices_made(work.db, event_type_id, reader_id=reader.id, now=work.now, limit=limit)


async def count_had_bookings(work: Work, team_id: UUID) -> Mapping[tuple[UUID, UUID], int]:
    """Count the bookings of each member of each group of a team that count."""
    return await count_bookings_had(work.db, team_id)


async def list_last_entries(work: Work, team_id: UUID, *, limit: int) -> list[LedgerEntry]:
    """List the last changes of credits of a team, newest first."""
    return await list_entries(work.db, team_id, newest=limit)


async def simulate_weights(
    work: Work, team_id: UUID, *, weights: Mapping[UUID, int], since: datetime
) -> dict[UUID, Simulated]:
    """Return for each member of a team's groups how many bookings they would have had with other weights."""
    groups: dict[UUID, list[StoredChoice]] = {}
    for choice in await list_choices(work.db, team_id, since=since):
        if not choice.asked.is_named and not choice.asked.instead_of:
            groups.setdefault(choice.group_id, []).append(choice)
    had, would = Counter[UUID](), Counter[UUID]()
    for choices in groups.values():
        had.update(user_id for choice in choices for user_id in choice.chosen)
        would.update(simulate((choice.asked for choice in choices), weights=weights))
    return {user_id: Simulated(had=had[user_id], would_have_had=would[user_id]) for user_id in would}


def check_choices(choices: Sequence[StoredChoice], entries: Sequence[LedgerEntry]) -> Iterator[LedgerDifference]:
    """Compare each choice with what it is when it is made again, and with the credits of that moment.

    The entries of accounts that were deleted are gone: nothing is said about these.
    """
    made: dict[UUID, dict[UUID, LedgerEntry]] = {}
    for entry in entries:
        if entry.assignment_id is not None:
            made.setdefault(entry.assignment_id, {}).setdefault(entry.user_id, entry)
    known = {(each.group_id, each.user_id) for each in entries}
    credits_: Counter[tuple[UUID, UUID]] = Counter()
    earlier = 0
    for choice in sorted(choices, key=lambda each: min((e.no for e in made.get(each.id, {}).values()), default=0)):
        deltas = made.get(choice.id, {})
        began = min((entry.no for entry in deltas.values()), default=0)
        while earlier < len(entries) and entries[earlier].no < began:
            credits_[entries[earlier].group_id, entries[earlier].user_id] += entries[earlier].delta
            earlier += 1
        if not choice.asked.is_named:
            before = {
                each.user_id: credits_[choice.group_id, each.user_id]
                for each in choice.asked.candidates
                if (choice.group_id, each.user_id) in known
            }
            yield from _compare(choice, {user_id: entry.delta for user_id, entry in deltas.items()}, before)


def check_credits(entries: Iterable[LedgerEntry], credits_: Iterable[StoredCredit]) -> Iterator[LedgerDifference]:
    """Compare each credit with the sum of its entries, and that of each group with 0."""
    sums: Counter[tuple[UUID, UUID]] = Counter()
    for entry in entries:
        sums[entry.group_id, entry.user_id] += entry.delta
    groups: Counter[UUID] = Counter()
    for each in credits_:
        groups[each.group_id] += each.credit
        if each.credit != (found := sums[each.group_id, each.user_id]):
            message = f"The credit of {each.user_id} is {each.credit}, and its entries sum up to {found}."
            yield LedgerDifference(group_id=each.group_id, message=message)
    for group_id, total in groups.items():
        if total:
            yield LedgerDifference(
                group_id=group_id, message=f"The credits of the group sum up to {total} instead of 0."
            )


def _compare(
    choice: StoredChoice, deltas: Mapping[UUID, int], before: Mapping[UUID, int]
) -> Iterator[LedgerDifference]:
    again = choose_again(choice.asked)
    said = {each.user_id: each.credit for each in choice.asked.candidates if each.user_id in before}
    if said != before:
        yield _differ(choice, "The credits at that time were others than the choice was given.")
    if again is None or again.chosen != choice.chosen:
        yield _differ(choice, "Others are chosen when it is made again.")
    elif not choice.asked.instead_of and (
        again.price != choice.price or any(again.deltas.get(user_id, 0) != delta for user_id, delta in deltas.items())
    ):
        yield _differ(choice, "Other credits are changed when it is made again.")


def _differ(choice: StoredChoice, message: str) -> LedgerDifference:
    return LedgerDifference(group_id=choice.group_id, assignment_id=choice.id, message=message)
