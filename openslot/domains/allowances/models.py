"""The nouns: what costs something, who causes it, how much of it is allowed, and what was refused."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct


class Cost(StrEnum):
    """What is counted by who causes it; each has a setting `OPENSLOT_ALLOWANCE_…`."""

    MAIL = "mail"
    """Emails to people who have never booked, confirmed or answered."""
    MESSAGE = "message"
    """SMS, WhatsApp messages and calls to numbers that have never answered."""
    TIME = "time"
    """Times taken without confirmation: holds, unpaid bookings, requests, offers of a wait list."""
    WAIT_LIST = "wait_list"
    """Entries of wait lists."""
    PROVIDER_READ = "provider_read"
    """Questions to a payment provider."""
    CODE = "code"
    """Codes by email that prove an address."""


class CauseKind(StrEnum):
    ACCOUNT = "account"
    """A user, with all keys, assistants and connections together."""
    NETWORK = "network"
    """A /24 of IPv4, a /48 of IPv6."""
    MAIL_DOMAIN = "mail_domain"
    """Everybody at a mail domain, but not at those of large providers."""
    LIMIT = "limit"
    """Everybody who causes messages together: the limits of a host, a number and a recipient in 24 hours."""
    COUNTRY = "country"
    """A country that a number does not send messages to."""
    DAY = "day"
    """Everybody who takes times of one day of a host without confirmation: they have a share of it together."""


class CostCause(Struct, frozen=True, kw_only=True):
    """Who causes a cost, with what its allowance grows by."""

    kind: CauseKind
    name: str
    age: timedelta = timedelta()
    """The age of the account, if an account causes it."""
    is_trusted: bool = False
    """Whether an account was made by the operator, an organization or an identity provider, or is paid for."""
    people: int = 0
    """How many have met an account and have proven their address or paid."""


class Allowance(Struct, frozen=True):
    """So much within any such time."""

    most: int
    window: timedelta


class RefusedCost(Struct, frozen=True, kw_only=True):
    """What was refused of one cost because one kind of cause had used its allowance up."""

    cost: Cost
    cause: CauseKind
    refused: int
    most: int
    first_at: datetime
    last_at: datetime
