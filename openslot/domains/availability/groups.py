"""Groups of hosts: whether each can have as many of its free hosts as it needs, when nobody can serve two of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_

from msgspec import Struct

MAX_NEEDS = 256
MAX_TRIES = 5000


class HostsWanted(Struct, frozen=True):
    """How many of which hosts a group needs."""

    pick: int
    hosts: frozenset[int]


Choose = Callable[[int, frozenset[int]], Sequence[int] | None]
"""Picks the hosts of a group, by its index, from those that it may have, the best first; None if there are too few."""


def can_fill(groups: Sequence[HostsWanted]) -> bool:
    return find_hosts(groups) is not None


def find_hosts(groups: Sequence[HostsWanted]) -> list[frozenset[int]] | None:
    """Find hosts for every group, each for one of them; None if there are too few."""
    serves: dict[int, int] = {}
    hosts = [sorted(group.hosts) for group in groups]

    def find_for(index: int, seen: set[int]) -> bool:
        idle = next((host for host in hosts[index] if host not in serves), None)
        if idle is not None:
            serves[idle] = index
            return True
        for host in hosts[index]:
            if host in seen:
                continue
            seen.add(host)
            if find_for(serves[host], seen):
                serves[host] = index
                return True
        return False

    if not all(find_for(index, set()) for index, group in enumerate(groups) for _ in range(group.pick)):
        return None
    return [frozenset(host for host, of in serves.items() if of == index) for index in range(len(groups))]


def fill(groups: Sequence[HostsWanted], choose: Choose) -> list[tuple[int, ...]] | None:
    """Choose the hosts of each group in turn, and leave to the later ones those whom they can't do without."""
    chosen: list[tuple[int, ...]] = []
    left = list(groups)
    while left:
        found = _fill_first(left, len(chosen), choose)
        if found is None:
            return None
        chosen.append(found)
        left = _without(left[1:], found)
    return chosen


def _fill_first(groups: Sequence[HostsWanted], index: int, choose: Choose) -> tuple[int, ...] | None:
    matched = find_hosts(groups)
    if matched is None:
        return None
    allowed = groups[0].hosts
    while True:
        found = choose(index, allowed)
        if found is None:
            return None
        needed = next((host for count, host in enumerate(found, 1) if not _spares(groups, found[:count])), None)
        if needed is None:
            return tuple(found)
        allowed -= {needed}
        if not _spares_enough(groups, allowed):
            allowed = matched[0]


def _spares(groups: Sequence[HostsWanted], hosts: Collection[int]) -> bool:
    """Return whether the groups after the first can do without some hosts."""
    return can_fill(_without(groups[1:], hosts))


def _spares_enough(groups: Sequence[HostsWanted], allowed: frozenset[int]) -> bool:
    return can_fill([HostsWanted(groups[0].pick, allowed), *groups[1:]])


def _without(groups: Iterable[HostsWanted], hosts: Collection[int]) -> list[HostsWanted]:
    return [HostsWanted(group.pick, group.hosts.difference(hosts)) for group in groups]


def find_fillable(groups: Sequence[HostsWanted], free: Mapping[int, int], *, among: int = -1) -> int:
    """Find at which of some starts every group can have its hosts, by the bits at which each host is free.

    By Hall's theorem that is where any groups together have as many free hosts as they need together.
    """
    groups = _keep_required(groups)
    if any(group.pick > len(group.hosts) for group in groups):
        return 0
    needs = _list_needs(groups)
    if needs is None:
        return _match_each(groups, free, among)
    for hosts, need in needs.items():
        among &= count_at_least(need, sorted(hosts), free, among=among)
    return among


def keep_most(groups: Sequence[HostsWanted], free: Mapping[int, int], among: int) -> int:
    """Find at how many of some starts, at most, the same hosts can serve the groups, and return these.

    Hosts who are free most often are tried first; where there are very many ways, the first ones have to do.
    """
    ranked = [sorted(group.hosts, key=lambda no: (-(free[no] & among).bit_count(), no)) for group in groups]
    indexes = [index for index, group in enumerate(groups) for _ in range(group.pick)]
    best, tries = 0, MAX_TRIES

    def serve(at: int, first: int, serving: tuple[int, ...], left: int) -> None:
        nonlocal best, tries
        if tries == 0 or left.bit_count() <= best.bit_count():
            return
        if at == len(indexes):
            best = left
            return
        hosts = ranked[indexes[at]]
        for index in range(first, len(hosts)):
            if hosts[index] in serving:
                continue
            tries = max(tries - 1, 0)
            goes_on = at + 1 < len(indexes) and indexes[at + 1] == indexes[at]
            serve(at + 1, index + 1 if goes_on else 0, (*serving, hosts[index]), left & free[hosts[index]])

    serve(0, 0, (), among)
    return best


def _match_each(groups: Sequence[HostsWanted], free: Mapping[int, int], fillable: int) -> int:
    """Look at one start after the other, where too many groups share hosts to look at all choices of groups."""
    hosts = sorted(frozenset[int]().union(*(group.hosts for group in groups)))
    for group in groups:
        fillable &= count_at_least(group.pick, sorted(group.hosts), free, among=fillable)
    matched: dict[frozenset[int], bool] = {}
    for index in range(fillable.bit_length()):
        if not fillable >> index & 1:
            continue
        now = frozenset(host for host in hosts if free[host] >> index & 1)
        if now not in matched:
            matched[now] = can_fill([HostsWanted(group.pick, group.hosts & now) for group in groups])
        if not matched[now]:
            fillable &= ~(1 << index)
    return fillable


def count_at_least(count: int, hosts: Sequence[int], free: Mapping[int, int], *, among: int = -1) -> int:
    """Find the bits at which so many hosts are free; who comes after enough were found at all of some is not asked."""
    if count == len(hosts):
        return reduce(and_, (free[host] for host in hosts), -1)
    words = [0] * count
    for host in hosts:
        each = free[host]
        for index in range(count - 1, 0, -1):
            words[index] |= words[index - 1] & each
        words[0] |= each
        if words[-1] & among == among:
            break
    return words[-1]


def _keep_required(groups: Sequence[HostsWanted]) -> list[HostsWanted]:
    """Take those whom a group can't do without out of the other groups."""
    kept, settled = list(groups), set[int]()
    while True:
        full = next((p for p, each in enumerate(kept) if p not in settled and each.pick == len(each.hosts)), None)
        if full is None:
            return kept
        settled.add(full)
        others = _without(kept, kept[full].hosts)
        kept = [each if index == full else others[index] for index, each in enumerate(kept)]


def _list_needs(groups: Sequence[HostsWanted]) -> dict[frozenset[int], int] | None:
    """List how many of which hosts must be free, for every choice of groups that share hosts; None if too many."""
    needs: dict[frozenset[int], int] = {}
    for related in _split(groups):
        unions: dict[frozenset[int], int] = {}
        for group in related:
            joined = [(hosts | group.hosts, need + group.pick) for hosts, need in unions.items()]
            for hosts, need in ((group.hosts, group.pick), *joined):
                unions[hosts] = max(need, unions.get(hosts, 0))
            if len(unions) > MAX_NEEDS:
                return None
        needs |= unions
    return needs


def _split(groups: Sequence[HostsWanted]) -> Iterator[list[HostsWanted]]:
    """Split groups into those that share hosts, directly or through others."""
    left = list(groups)
    while left:
        related = [left.pop(0)]
        for group in related:
            near = [other for other in left if other.hosts & group.hosts]
            left = [other for other in left if not other.hosts & group.hosts]
            related += near
        yield related
