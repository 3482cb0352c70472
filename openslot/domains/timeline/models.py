"""The nouns of timelines: one effect of a booking, and what needs its host's attention."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.allowances.models import RefusedCost
from openslot.domains.mail.models import MailPot
from openslot.platform.core.errors import NotFound
from openslot.platform.core.events import EffectState
from openslot.platform.i18n import Text


class EffectKind(StrEnum):
    """What an effect does, as hosts know it."""

    MAIL = "mail"
    REMINDER = "reminder"
    MAIL_FOLLOW_UP = "mail_follow_up"
    MESSAGE = "message"
    """A reminder by SMS or WhatsApp."""
    FOLLOW_UP = "follow_up"
    """A follow-up by SMS or WhatsApp."""
    WEBHOOK = "webhook"
    CALENDAR = "calendar"
    CRM = "crm"
    CONFERENCE = "conference"
    """The link of a video call."""
    REFUND = "refund"
    WAIT_LIST = "wait_list"
    """The offer of what has become free."""
    TEAM_CHAT = "team_chat"
    ENDING = "ending"
    """The end of something that belonged to a closed account."""
    PAYMENTS = "payments"
    """The account that payments go to."""
    PAYMENT = "payment"
    OTHER = "other"


class TimelineEffect(Struct, frozen=True, kw_only=True):
    """One thing that is done because of a booking."""

    id: UUID
    event_id: UUID | None
    """None if it was planned for a time."""
    event_type: str | None
    kind: EffectKind
    plans_others: bool
    """Whether it only finds out what is to be done."""
    recipient: str | None
    """The recipient; None if there is none, or if it is the host and an earlier version has not noted whom."""
    target_name: str | None
    """The address of the endpoint, the name of the calendar, the CRM or a channel; None if it no longer exists."""
    state: EffectState
    attempts: int
    next_try_at: datetime
    finished_at: datetime | None
    error: str | None
    is_to_host: bool = False
    in_mailbox: bool = False
    """Whether it is a mail that stays in the embedded mailbox, so that nobody gets it."""

    @property
    def is_shown(self) -> bool:
        """Whether it says something to a host: a plan that was carried out is shown by what it planned.

        Only the host can know why no money went back, so that is shown as well.
        """
        hidden = {EffectState.DONE} if self.kind is EffectKind.REFUND else {EffectState.DONE, EffectState.SKIPPED}
        return not self.plans_others or self.state not in hidden


class FailedEffect(Struct, frozen=True, kw_only=True):
    """An effect that has failed for good, and the booking that it belongs to, if there is one."""

    effect: TimelineEffect
    booking_id: UUID | None
    invitee_name: str | None
    event_type_name: str | None


class Trouble(Struct, frozen=True, kw_only=True):
    """A calendar, an endpoint, a CRM or an account that no longer works, or a payment that needs a person."""

    kind: EffectKind
    label: str
    since: datetime
    reason: str | None


class UnsentMail(Struct, frozen=True, kw_only=True):
    """A kind of mail that is not sent, because the public has set off too much of it."""

    pot: MailPot
    since: datetime


class Requests(Struct, frozen=True):
    """How many requests wait for a host, and until when the first one can be answered."""

    count: int
    until: datetime


class Attention(Struct, frozen=True, kw_only=True):
    """What a host should look at."""

    failed: tuple[FailedEffect, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    unsent: tuple[UnsentMail, ...] = ()
    held: tuple[datetime, ...] = ()
    """The starts that are held, in order, if there are unusually many."""
    requests: Requests | None = None
    refused: tuple[RefusedCost, ...] = ()
    """The costs that were refused within a day because an allowance was used up."""


class EffectNotFound(NotFound):
    """No such effect has failed, or it belongs to somebody else."""

    code = "effect_not_found"
    message = Text("This step has not failed, or no longer exists")
