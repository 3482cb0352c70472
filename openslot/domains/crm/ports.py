"""The port of a CRM, the same for every vendor in nouns of our own, and how a CRM can fail."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from msgspec import Struct

from openslot.domains.crm.models import CrmMeeting, CrmPerson
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound


class CrmAccount(Struct, frozen=True, kw_only=True):
    """The account that credentials open."""

    account: str
    """The vendor's own id of it, or its address: the same account has the same one."""
    label: str
    """The name by which its owner knows it."""


class CrmCredentials(Struct, frozen=True, kw_only=True):
    """What opens an account; never stored or logged as it is."""

    account: str = ""
    """The text typed for `CrmVendor.account`, or the account that `check` has found."""
    secret: str
    options: Mapping[str, Any] = {}
    """The owner's options for this vendor, such as which fields are written; JSON."""

    def __repr__(self) -> str:
        return "CrmCredentials(…)"


class CrmFault(Exception):
    """The CRM did not do what was asked; no fault repeats a secret."""


class CrmRefused(CrmFault):
    """The request itself is refused, by a rule of the account for example: the same request never succeeds.

    Its argument is shown to the owner as it is.
    """


class CrmAccountRefused(CrmFault):
    """What was given can't be an account, whatever its secret is; its argument, a `Text`, says why at the field."""


class CrmTokenRefused(CrmFault):
    """The secret is not valid, or no longer: the owner must connect the CRM again."""


class CrmMeetingGone(CrmFault):
    """Somebody has deleted the meeting in the CRM."""


class CrmBusy(CrmFault):
    """Too many requests, in this moment or on this day; nothing was done."""

    def __init__(self, after: timedelta | None = None) -> None:
        super().__init__("the CRM asks for fewer requests")
        self.after = after


class CrmUnavailable(CrmFault):
    """There is no answer, or the CRM has a fault of its own; whether it was done is not known.

    Its argument says why, in words for the owner.
    """

    def __init__(self, reason: str = "", *, after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after
        """How long to wait at least, so that the next try finds what this one may have done."""


class Crm(Protocol):
    """One account of a CRM; what it can't do is a `CrmFault`.

    Every verb may be repeated after a lost answer: what was done before is found again and not done twice. `key` is
    the same in every try of one step.
    """

    async def check(self) -> CrmAccount:
        """Tell which account it is, without changing anything there; raise `CrmTokenRefused` if it can't be used."""
        ...

    async def upsert_person(self, person: CrmPerson, *, key: str) -> str:
        """Find or add a person by email address and return the CRM's id; what somebody has filled in there stays."""
        ...

    async def log_meeting(self, meeting: CrmMeeting, *, person_id: str, key: str) -> str:
        """Add the meeting of a booking, or change it if there is one already, and return the CRM's id of it."""
        ...

    async def change_meeting(self, meeting_id: str, meeting: CrmMeeting, *, key: str) -> None:
        """Make a meeting show the booking as it is now; raise `CrmMeetingGone` if it was deleted."""
        ...

    async def close(self) -> None: ...


class CrmField(Struct, frozen=True, kw_only=True):
    """Something that is typed to connect a CRM: on the page, and at the terminal."""

    label: str
    """A `Text`."""
    hint: str
    """A `Text`."""
    placeholder: str = ""


class CrmVendor(Protocol):
    """A kind of CRM: what is typed to connect one, and how an account is opened.

    At the terminal it is chosen by `--NAME`, with the account as value if one is typed; a secret comes from the
    standard input by `--token-stdin`.
    """

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def account(self) -> CrmField | None:
        """The account, such as an address; None if `check` finds it."""
        ...

    @property
    def secret(self) -> CrmField | None:
        """The secret, such as a token; None if we make one with `make_secret`, and show it once."""
        ...

    def make_secret(self) -> str: ...

    def open(self, outbound: Outbound, settings: Settings, credentials: CrmCredentials) -> Crm:
        """Open an account; raise `CrmAccountRefused` or `CrmTokenRefused` for what can't be one or its secret."""
        ...


class CrmVendors(Protocol):
    """All kinds of CRM that this installation knows."""

    def get(self, name: str) -> CrmVendor: ...

    def list_all(self) -> tuple[CrmVendor, ...]: ...
