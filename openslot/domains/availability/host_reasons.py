"""The words for hosts who are chosen: who of each group is free for a start, and what is missing."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from openslot.domains.availability.explanations import GroupExplained, HostExplained, Reason
from openslot.domains.availability.free_hosts import join_sessions, list_wanted
from openslot.domains.availability.groups import count_at_least, find_fillable
from openslot.domains.availability.models import Code, GroupInputs
from openslot.domains.availability.rules import SlotQuery
from openslot.domains.availability.slots import Causes, find_first
from openslot.domains.teams.choice import BOOKING, judge
from openslot.domains.teams.models import HostStanding, HostVerdict
from openslot.platform.i18n import PluralText, Text


def give_shortage(
    query: SlotQuery, code: Code, start: int, *, groups: Sequence[GroupExplained], hosts: Mapping[int, Causes]
) -> Iterator[Reason]:
    """Return why a start has no hosts, or is between the steps of a day."""
    inputs = query.inputs
    if code is Code.OFF_GRID:
        step = query.steps.step // 60
        sentence = Text("Start times are %(minutes)s min apart, counted from midnight", minutes=step)
        yield Reason(code, sentence, Text("Choose another time, or change the slot interval"))
    elif code is Code.OUTSIDE_HOURS:
        yield TOO_FEW_WORK
        yield from _blame_hosts(code, groups)
    elif start in inputs.sessions:
        yield _ABSENT
        away = [(no, find_first(hosts[no])) for no in sorted(inputs.sessions[start].hosts) if no in hosts]
        named = ((inputs.hosts[no].name, why) for no, why in away if why is not Code.OPEN)
        yield from (Reason(code, _SENTENCES[why].fill(name=name), _REMEDY) for name, why in named)
    else:
        short = [group for group in groups if group.can_be_chosen < group.pick]
        yield from (Reason(code, group.sentence, _REMEDY) for group in short) if short else (_SHARED,)
        yield from _blame_hosts(code, short)


def _blame_hosts(code: Code, groups: Sequence[GroupExplained]) -> Iterator[Reason]:
    """Return why hosts of groups can't be chosen, each host once."""
    sentences = dict.fromkeys(host.sentence for group in groups for host in group.hosts if not host.can_be_chosen)
    return (Reason(code, sentence, _REMEDY) for sentence in sentences)


def count_shortages(query: SlotQuery, given: int, sessions: int, free: Mapping[int, int]) -> Iterator[Reason]:
    """Return at how many of some starts each group has too few free hosts, or a session has not all of its own."""
    groups = list_wanted(query.inputs)
    alone = given & ~sessions
    for number, wanted in enumerate(groups, 1):
        enough = count_at_least(wanted.pick, sorted(wanted.hosts), free)
        short = (given & ~sessions & ~enough).bit_count()
        alone &= enough
        if short:
            sentence = Text("Too few hosts of group %(number)s are free", number=number)
            yield Reason(Code.NO_HOSTS, sentence, _REMEDY, closes=short)
    shared = alone & ~find_fillable(groups, free)
    if shared:
        yield replace(_SHARED, closes=shared.bit_count())
    absent = sessions & ~join_sessions(query, free, 0, among=sessions)
    if absent:
        yield replace(_ABSENT, closes=absent.bit_count())


def explain_group(query: SlotQuery, group: GroupInputs, hosts: Mapping[int, Causes], start: int) -> GroupExplained:
    """Explain who of a group can be chosen for a start."""
    judged = {no: find_first(causes) for no, causes in hosts.items()}
    session = query.inputs.sessions.get(start)
    hosting = session.hosts if session else ()
    candidates = [replace(each, is_free=judged.get(each.host_no) is Code.OPEN) for each in group.candidates]
    verdicts = judge(candidates, pick=group.group.pick, rules=query.inputs.choice.rules)
    told = tuple(
        _explain_host(
            query.inputs.hosts[each.host_no].name,
            judged[each.host_no],
            verdict,
            has_session=each.host_no in hosting,
        )
        for each, verdict in zip(candidates, verdicts, strict=True)
        if each.host_no in query.inputs.hosts
    )
    able, pick = sum(host.can_be_chosen for host in told), group.group.pick
    if not told:
        sentence = Text("The group has no hosts")
    elif able < pick:
        sentence = PluralText(
            "Only %(count)s of %(needed)s needed hosts is free",
            "Only %(count)s of %(needed)s needed hosts are free",
            count=able,
            needed=pick,
        )
    else:
        sentence = PluralText("%(count)s host is free", "%(count)s hosts are free", count=able)
    return GroupExplained(pick, able, sentence, told)


def _explain_host(name: str, code: Code, verdict: HostVerdict, *, has_session: bool) -> HostExplained:
    if verdict.standing is HostStanding.PAUSED:
        return HostExplained(name, False, Text("%(name)s has a weight of 0", name=name))
    if verdict.standing is HostStanding.AHEAD:
        count = verdict.ahead // BOOKING
        return HostExplained(name, False, Text("%(name)s is %(count)s ahead", name=name, count=count))
    if has_session and code is Code.OPEN:
        # They are not chosen again: whoever comes next joins their session.
        return HostExplained(name, True, Text("%(name)s hosts the session at this time", name=name))
    return HostExplained(name, code is Code.OPEN, _SENTENCES[code].fill(name=name))


_REMEDY = Text("Choose another time, or add hosts")
TOO_FEW_WORK = Reason(Code.OUTSIDE_HOURS, Text("Too few hosts work at this time"), _REMEDY)
_SHARED = Reason(
    Code.NO_HOSTS, Text("Too few hosts are free: some are in several groups, and can host for one of them"), _REMEDY
)
_ABSENT = Reason(Code.NO_HOSTS, Text("A host of the session at this time can't host it any more"), _REMEDY)
_SENTENCES = {
    Code.OPEN: Text("%(name)s is free", name=""),
    Code.OUTSIDE_HOURS: Text("%(name)s does not work at this time", name=""),
    Code.OUT_OF_OFFICE: Text("%(name)s is out of office", name=""),
    Code.HOLIDAY: Text("%(name)s has a public holiday", name=""),
    Code.DAY_LIMIT: Text("%(name)s has reached a limit per day", name=""),
    Code.WEEK_LIMIT: Text("%(name)s has reached a limit per week", name=""),
    Code.TAKEN: Text("%(name)s is in a meeting", name=""),
    Code.BUSY: Text("%(name)s is busy in a calendar", name=""),
}
