"""What happened to the second factor and the address of an account."""

from typing import ClassVar
from uuid import UUID

from openslot.domains.accounts.events import UserEvent
from openslot.platform.core.events import Event


class TwoFactorTurnedOn(UserEvent, frozen=True, kw_only=True):
    """A user has turned two-factor authentication on."""

    type: ClassVar[str] = "two_factor.turned_on"


class TwoFactorTurnedOff(UserEvent, frozen=True, kw_only=True):
    """Two-factor authentication was turned off, by the user or by the operator."""

    type: ClassVar[str] = "two_factor.turned_off"
    by_operator: bool


class RecoveryCodeUsed(UserEvent, frozen=True, kw_only=True):
    """A recovery code was used instead of a code of the app."""

    type: ClassVar[str] = "two_factor.recovery_code_used"
    left: int
    """How many codes can still be used."""


class RecoveryCodesRenewed(UserEvent, frozen=True, kw_only=True):
    """A user has created new recovery codes; the earlier ones are refused."""

    type: ClassVar[str] = "two_factor.recovery_codes_renewed"


class AddressChangeRequested(UserEvent, frozen=True, kw_only=True):
    """A user wants to change the email address; a link to confirm it and a notice will be sent."""

    type: ClassVar[str] = "user.address_change_requested"
    change_id: UUID


ACCESS_EVENTS: tuple[type[Event], ...] = (
    TwoFactorTurnedOn,
    TwoFactorTurnedOff,
    RecoveryCodeUsed,
    RecoveryCodesRenewed,
    AddressChangeRequested,
)
