"""messaging …: the kill switch of outgoing messages."""

from typing import Annotated

import typer

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows
from openslot.core.work import Work
from openslot.flags import switches
from openslot.flags.models import ALL, ChannelStatus, DroppedMessage

app = group("Outgoing messages: stop and resume them.")

ChannelOption = Annotated[
    str, typer.Option("--channel", help="sms, whatsapp, voice or email; all is every one of them but email")
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; the team chat and the page of messages show it")]


@command(app, "stop")
async def stop(work: Work, reason: ReasonOption, channel: ChannelOption = ALL) -> Answer:
    """Stop outgoing messages: they wait until they are resumed."""
    return _answer(await switches.stop_messaging(work, channel, reason=reason))


@command(app, "resume")
async def resume(work: Work, reason: ReasonOption, channel: ChannelOption = ALL) -> Answer:
    """Resume outgoing messages: those that wait are sent, in order, unless they have lost their meaning."""
    return _answer(await switches.resume_messaging(work, channel, reason=reason))


@command(app, "status")
async def show_status(work: Work) -> Answer:
    """Show which channels are stopped, since when, by whom and why, how many messages wait, and what was dropped."""
    return _answer(await switches.get_status(work), await switches.list_dropped(work))


def _answer(found: list[ChannelStatus], dropped: list[DroppedMessage] | None = None) -> Answer:
    rows = [
        (each.channel, stop is not None, stop and stop.at, stop and stop.name, each.waiting, stop and stop.reason)
        for each in found
        for stop in (each.stop,)
    ]
    shown: dict[str, object] = {"channels": [_show(each) for each in found]}
    if dropped is not None:
        shown["dropped"] = [
            {
                "id": str(each.id),
                "channel": each.channel,
                "recipient": each.recipient,
                "subject": each.subject,
                "heldAt": each.held_at,
                "droppedAt": each.dropped_at,
                "failed": each.has_failed,
                "reason": each.reason,
            }
            for each in dropped
        ]
    table = TableRows(("Channel", "Stopped", "Since", "By", "Waiting", "Reason"), rows)
    notes = [f"{len(dropped)} messages were dropped after they had waited; --json lists them."] if dropped else []
    return Answer(shown, table, notes)


def _show(each: ChannelStatus) -> dict[str, object]:
    stop = each.stop
    return {
        "channel": each.channel,
        "stopped": stop is not None,
        "since": stop and stop.at,
        "by": stop and stop.name,
        "reason": stop and stop.reason,
        "waiting": each.waiting,
    }
