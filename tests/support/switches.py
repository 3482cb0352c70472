"""The kill switch, as tests use it."""

from openslot.platform.core.actor import OPERATOR, Actor
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import ChannelStatus, OutgoingChannel
from openslot.platform.flags.switches import operations as switches


async def stop(
    runtime: Runtime, channel: str = "email", *, reason: str = "a loop", actor: Actor = OPERATOR
) -> dict[OutgoingChannel, ChannelStatus]:
    async with runtime.transaction(actor) as work:
        return by_channel(await switches.stop_messaging(work, channel, reason=reason))


async def resume(
    runtime: Runtime, channel: str = "email", *, reason: str = "mended", actor: Actor = OPERATOR
) -> dict[OutgoingChannel, ChannelStatus]:
    async with runtime.transaction(actor) as work:
        return by_channel(await switches.resume_messaging(work, channel, reason=reason))


async def status(runtime: Runtime) -> dict[OutgoingChannel, ChannelStatus]:
    return by_channel(await switches.get_status(runtime.work(OPERATOR)))


async def waiting(runtime: Runtime) -> int:
    """Count the emails that wait."""
    return (await status(runtime))[OutgoingChannel.EMAIL].waiting


def by_channel(found: list[ChannelStatus]) -> dict[OutgoingChannel, ChannelStatus]:
    return {each.channel: each for each in found}
