"""The kill switch of outgoing messages: stop them, resume them, and ask whether one may be sent now."""

from collections.abc import Sequence

from openslot.platform.core.errors import Invalid
from openslot.platform.core.holding import release_effects
from openslot.platform.core.text import EMPTY, NOT_ALLOWED, at_most_characters, is_line
from openslot.platform.core.work import Runtime, Waits, Work
from openslot.platform.flags.events import MessagingResumed, MessagingStopped
from openslot.platform.flags.models import ALL, ALL_CHANNELS, ChannelStatus, DroppedMessage, OutgoingChannel
from openslot.platform.flags.switches import store
from openslot.platform.i18n import Text

LONGEST_REASON = 500
MAX_DROPPED = 100


async def find_stop(work: Work, channel: OutgoingChannel) -> Waits | None:
    """Return what a reaction returns if its channel is stopped; ask immediately before a message is sent.

    The answer is read from the database after the question, never from memory; all who ask at once share a statement.
    """
    is_stopped = await work.runtime.batcher(read_stopped).ask(channel)
    return Waits(channel) if is_stopped else None


async def read_stopped(runtime: Runtime, channels: Sequence[OutgoingChannel]) -> list[bool]:
    stopped = await store.list_stopped(runtime.pool)
    return [channel in stopped for channel in channels]


async def stop_messaging(work: Work, channel: str, *, reason: str) -> list[ChannelStatus]:
    """Stop outgoing messages of a channel, or with `all` of every one but email.

    What a worker has taken and not yet sent waits, too. A channel that is stopped already stays as it is.
    """
    channels, reason = read_channels(channel), _check_reason(reason)
    stopped = await store.stop(work.db, channels, actor=work.actor, reason=reason, now=work.now)
    if stopped:
        await work.record(MessagingStopped(channels=tuple(stopped), reason=reason))
    return await get_status(work)


async def resume_messaging(work: Work, channel: str, *, reason: str) -> list[ChannelStatus]:
    """Resume outgoing messages of a channel, or with `all` of every one but email: what waits is sent, in order."""
    channels, reason = read_channels(channel), _check_reason(reason)
    resumed = await store.resume(work.db, channels)
    if resumed:
        waiting = await release_effects(work.db, resumed, now=work.now)
        await work.record(MessagingResumed(channels=tuple(resumed), reason=reason, waiting=waiting))
    return await get_status(work)


async def get_status(work: Work) -> list[ChannelStatus]:
    """Return how each channel stands: whether it is stopped, since when, by whom and why, and what waits."""
    return await store.list_status(work.db)


async def list_dropped(work: Work) -> list[DroppedMessage]:
    """List messages that waited and were not sent afterwards, the latest 100, with the reason."""
    return await store.list_dropped(work.db, limit=MAX_DROPPED)


def read_channels(channel: str) -> tuple[OutgoingChannel, ...]:
    """Return which channels a name stands for."""
    if channel == ALL:
        return ALL_CHANNELS
    if channel not in set(OutgoingChannel):
        known = ", ".join((ALL, *OutgoingChannel))
        raise Invalid(details={"channel": Text("must be one of %(choices)s", choices=known)})
    return (OutgoingChannel(channel),)


def _check_reason(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise Invalid(details={"reason": EMPTY})
    if not is_line(reason):
        raise Invalid(details={"reason": NOT_ALLOWED})
    if len(reason) > LONGEST_REASON:
        raise Invalid(details={"reason": at_most_characters(LONGEST_REASON)})
    return reason
