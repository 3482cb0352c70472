"""Why a step was left out, or waits: in the words of the code that left it out, and in the reader's."""

from openslot.bookings.conferences import NO_LINK_REASONS, NOBODY_WAITS
from openslot.conversations.models import Channel, MessageStatus
from openslot.core.effects import REPLANNED
from openslot.core.holding import name_stop
from openslot.core.revivals import DONE_SINCE, REPLACED, TOO_OLD
from openslot.flags.models import OutgoingChannel
from openslot.i18n import Text
from openslot.integrations.mail.models import UNWANTED
from openslot.integrations.mail.reactions import NO_HOST, OVER
from openslot.integrations.mail.reminder_mails import CANCELLED, HANDED_OVER, MOVED
from openslot.integrations.mail.rules import LIMIT_REACHED
from openslot.messaging.words import REFUSALS
from openslot.payments.reactions import BY_POLICY, NOTHING_PAID, NOTHING_TO_REFUND, REFUND_MADE
from openslot.payments.words import describe_policy
from openslot.reminders.rules import BEGUN, UNWANTED_ENTRY

REASONS = {
    OVER: Text("the meeting is over"),
    NO_HOST: Text("the account is deleted"),
    CANCELLED: Text("the booking is cancelled"),
    MOVED: Text("the booking was rescheduled"),
    UNWANTED: Text("you have turned these emails off"),
    REPLACED: Text("a newer change replaced it"),
    REPLANNED: Text("a newer change replaced it"),
    DONE_SINCE: Text("a later change was already carried out"),
    TOO_OLD: Text("it is too old"),
    BEGUN: Text("the meeting has begun"),
    UNWANTED_ENTRY: Text("you have deleted it since"),
    name_stop(OutgoingChannel.EMAIL): Text("the administrator has stopped emails; it will be sent later"),
    **dict.fromkeys(
        (name_stop(channel) for channel in Channel),
        Text("the administrator has stopped messages; it will be sent later"),
    ),
    # A message keeps a word for its reason, and an effect the reason.
    **REFUSALS,
    MessageStatus.UNKNOWN: Text("may not have been sent"),
    **{str(reason): reason for reason in REFUSALS.values()},
    "the endpoint is deleted": Text("the endpoint is deleted"),
    "the endpoint is paused": Text("the endpoint is paused"),
    "the endpoint is disabled": Text("the endpoint is switched off"),
    "a replay has arrived already": Text("it was resent and delivered"),
    "the calendar is disconnected": Text("the calendar is disconnected"),
    "the booking is gone": Text("the booking is gone"),
    HANDED_OVER: Text("the booking was handed over to another host"),
    NOTHING_PAID: Text("nothing was paid"),
    NOTHING_TO_REFUND: Text("nothing is left to refund"),
    REFUND_MADE: Text("the refund is made already"),
    NOBODY_WAITS: Text("nobody waits for the link any more"),
    **{str(reason): reason for reason in NO_LINK_REASONS},
}


def find_reason(error: str) -> Text | None:
    """Find the text for what an effect keeps as its reason; None if that is what another server has said."""
    if error.startswith(BY_POLICY):
        return Text("the refund policy is: %(policy)s", policy=describe_policy(error.removeprefix(BY_POLICY)))
    if error.startswith(LIMIT_REACHED):
        return Text("a limit of emails is reached")
    return REASONS.get(error)
