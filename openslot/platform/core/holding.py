"""Effects that wait because the channel of their message is stopped, and how they go on when it is resumed."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from openslot.platform.core.db import Db, count_of
from openslot.platform.core.events import WAKE, Effect
from openslot.platform.i18n import CodedReason

# Nothing is to be seen before the channel is resumed; a look a day mends what nobody has released.
LOOK_AGAIN_AFTER = timedelta(days=1)

# The channel's row is locked before it is believed, and before the effect is: a resumption that comes first is seen
# here, and one that comes later finds what waits. If it came first, the effect is due at once. The reaction has not
# sent anything, so the attempt does not count.
HOLD = """
with stopped as materialized (
    select channel from switches where channel = $3 and stopped_at is not null for share
), attempt as materialized (
    select id, next_try_at from effects
    where id = $1 and round = $2 and state = 'running' and (select count(*) from stopped) >= 0 for update
), again as (
    update effects e set state = case when superseded is null then 'queued' else 'skipped' end,
        finished_at = case when superseded is not null then $4::timestamptz end, attempts = attempts - 1,
        round = round + 1, yields = false,
        next_try_at = case when exists (select from stopped) then $4::timestamptz + $5::interval else e.next_try_at end,
        last_error = coalesce(superseded, $6)
    from attempt a where e.id = a.id returning e.id, e.round, e.state
), held as (
    insert into held_effects as h (effect_id, channel, round, due_at, held_at)
    select e.id, s.channel, e.round, a.next_try_at, $4::timestamptz
    from again e, attempt a, stopped s where e.state = 'queued'
    on conflict (effect_id) do update set channel = excluded.channel, round = excluded.round, released_at = null,
        due_at = case when h.round = $2 then h.due_at else excluded.due_at end,
        held_at = case when h.round = $2 then h.held_at else excluded.held_at end
)
select exists (select from stopped)"""

# Effects are locked before what is noted about them, as everywhere, and in one order.
RELEASE = f"""
with held as materialized (
    select e.id, h.due_at from held_effects h join effects e on e.id = h.effect_id and e.round = h.round
    where h.channel = any($1) and h.released_at is null and e.state = 'queued' order by e.id for update of e
), due as (
    update effects e set next_try_at = h.due_at, yields = false, last_error = null
    from held h where e.id = h.id returning e.id
), released as (
    update held_effects set released_at = $2
    where channel = any($1) and released_at is null and (select count(*) from due) >= 0
)
select count(*), {WAKE} from due"""

DELETE_SENT = """
delete from held_effects where effect_id = any(array(
    select h.effect_id from held_effects h join effects e on e.id = h.effect_id where e.state = 'done' limit $1))"""


STOPPED = {
    "email": CodedReason(
        "stopped.email",
        "the administrator has stopped emails; it will be sent later",
        said="outgoing messages are stopped: email",
    )
}
STOPPED_MESSAGES = CodedReason(
    "stopped.messages",
    "the administrator has stopped messages; it will be sent later",
    said="outgoing messages are stopped: %(channel)s",
)


def name_stop(channel: str) -> CodedReason:
    """Say why an effect waits."""
    return STOPPED.get(channel) or STOPPED_MESSAGES.fill(channel=channel)


async def hold_effect(db: Db, effect: Effect, channel: str, *, now: datetime) -> bool:
    """Let an effect wait until its channel is resumed; return False if that has happened: it is due at once."""
    arguments = (effect.id, effect.round, channel, now, LOOK_AGAIN_AFTER, name_stop(channel).kept)
    return bool(await db.fetchval(HOLD, *arguments))


async def release_effects(db: Db, channels: Sequence[str], *, now: datetime) -> int:
    """Let all that waits for these channels go on, in the order in which it was due; return how many there are."""
    return int(await db.fetchval(RELEASE, channels, now))


async def forget_sent(db: Db, *, limit: int) -> int:
    """Forget that effects have waited which were carried out since."""
    return count_of(await db.execute(DELETE_SENT, limit))
