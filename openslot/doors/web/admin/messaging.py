"""Pages: outgoing messages: which channels are stopped, what waits, what was dropped; stop and resume them."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction
from openslot.doors.agents.roster import ROSTER
from openslot.doors.web.admin.change_log import log_platform
from openslot.doors.web.shared.frame import OUTGOING
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.reasons import find_reason
from openslot.platform.core.errors import NotFound
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.flags.models import ALL, ALL_CHANNELS, MessagingStop, OutgoingChannel
from openslot.platform.flags.switches.operations import (
    LONGEST_REASON,
    get_status,
    list_dropped,
    read_channels,
    resume_messaging,
    stop_messaging,
)
from openslot.platform.i18n import PluralText, Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

HERE = "/admin/messaging"
CHANNELS: dict[str, Text] = {
    **OUTGOING,
    ALL: Text("SMS, WhatsApp and voice calls"),
}
NOTICES = {
    "stopped": Text("The messages are stopped. They wait until you resume them."),
    "resumed": Text("The messages are resumed. Those that waited are being sent."),
}

STOPS = Text(
    "Nothing more is sent until you resume it, not even what is on its way to be sent. Messages wait in their order."
)
STILL_SENT = Text(
    "Emails to sign in, to choose a new password, to verify an address and about security are always sent."
)


class ReasonForm(Struct, frozen=True, kw_only=True):
    reason: Annotated[str, Meta(pattern=LINE, max_length=LONGEST_REASON), WhenEmpty(Text("Enter the reason"))]


@get("/admin/messaging")
async def show_messaging(work: Work, user: User) -> Response:
    found = await get_status(work)
    return page(
        "admin/messaging.html",
        user,
        here=HERE,
        notices=NOTICES,
        statuses=found,
        channels=CHANNELS,
        name_of=name_stopper,
        may_stop_all=any(each.stop is None for each in found if each.channel in ALL_CHANNELS),
        may_resume_all=any(each.stop is not None for each in found if each.channel in ALL_CHANNELS),
        dropped=[(each, find_reason(each.reason)) for each in await list_dropped(work)],
    )


@get("/admin/messaging/{channel}/stop")
async def ask_to_stop(work: Work, user: User, channel: str, form: Form[ReasonForm] = Form()) -> Response:
    return await _ask(work, user, channel, form, is_stop=True)


@get("/admin/messaging/{channel}/resume")
async def ask_to_resume(work: Work, user: User, channel: str, form: Form[ReasonForm] = Form()) -> Response:
    return await _ask(work, user, channel, form, is_stop=False)


@post("/admin/messaging/{channel}/stop", shows=ask_to_stop)
async def stop_channel(request: Request, work: Work, user: User, channel: str, form: Form[ReasonForm]) -> Response:
    """Let outgoing messages of a channel wait."""
    _check_channel(channel)
    after = {"reason": form.get().reason.strip()}
    await stop_messaging(work, channel, reason=after["reason"])
    await log_platform(work, request, user, ChangeAction.MESSAGING_STOPPED, channel, after=after)
    return redirect(f"{HERE}?done=stopped")


@post("/admin/messaging/{channel}/resume", shows=ask_to_resume)
async def resume_channel(request: Request, work: Work, user: User, channel: str, form: Form[ReasonForm]) -> Response:
    """Send what waits."""
    _check_channel(channel)
    after = {"reason": form.get().reason.strip()}
    await resume_messaging(work, channel, reason=after["reason"])
    await log_platform(work, request, user, ChangeAction.MESSAGING_RESUMED, channel, after=after)
    return redirect(f"{HERE}?done=resumed")


async def _ask(work: Work, user: User, channel: str, form: Form[ReasonForm], *, is_stop: bool) -> Response:
    _check_channel(channel)
    return page(
        "admin/switch_messaging.html",
        user,
        here=HERE,
        form=form,
        label=CHANNELS[channel],
        is_stop=is_stop,
        sentences=await describe_switch(work, channel, is_stop=is_stop),
    )


async def describe_switch(work: Work, channel: str, *, is_stop: bool) -> tuple[Text, ...]:
    """Say what happens if a channel is stopped or resumed now."""
    if is_stop:
        return (STOPS, STILL_SENT) if channel == OutgoingChannel.EMAIL else (STOPS,)
    concerned = read_channels(channel)
    waiting = sum(each.waiting for each in await get_status(work) if each.channel in concerned)
    resumption = PluralText(
        "%(count)s message waits. It is sent now, unless it has lost its meaning, such as a reminder of a past "
        "meeting.",
        "%(count)s messages wait. They are sent now in their order, unless they have lost their meaning, such as a "
        "reminder of a past meeting.",
        count=waiting,
    )
    return (resumption,)


def _check_channel(channel: str) -> None:
    if channel not in CHANNELS:
        raise NotFound


def name_stopper(stop: MessagingStop) -> str:
    """Say who has stopped messages: a person or an agent by name, or what it was done with."""
    if stop.user_name is not None:
        return stop.user_name
    if stop.actor.agent is not None:
        return ROSTER[stop.actor.agent].name if stop.actor.agent in ROSTER else stop.actor.agent
    return Text("a deleted account") if stop.actor.user_id is not None else Text("the command line")
