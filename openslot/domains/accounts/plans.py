"""Plans: which there are, what each opens, and which one counts."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class Plan(StrEnum):
    """The plan of a user or an organization."""

    FREE = "FREE"
    PRO = "PRO"
    BUSINESS = "BUSINESS"


RANK = {Plan.FREE: 0, Plan.PRO: 1, Plan.BUSINESS: 2}
PLANS_WITH_API = frozenset({Plan.PRO, Plan.BUSINESS})
PLANS_WITH_SCIM = frozenset({Plan.BUSINESS})
PLANS_WITH_ORGANIZATIONS = frozenset({Plan.BUSINESS})


class PlanOrigin(StrEnum):
    """Where a plan can come from."""

    OWN = "own"
    SUBSCRIPTION = "subscription"
    """The user's own too, but paid for."""
    TRIAL = "trial"
    ORGANIZATION = "organization"


class PlanGrant(Struct, frozen=True, kw_only=True):
    origin: PlanOrigin
    plan: Plan
    until: datetime | None = None
    organization: str | None = None


def strongest(grants: Iterable[PlanGrant], *, now: datetime) -> PlanGrant:
    """Choose the grant that counts; of equal ones the first."""
    return max(grants, key=lambda grant: RANK[running(grant.plan, grant.until, now=now)])


def running(plan: Plan | None, until: datetime | None, *, now: datetime) -> Plan:
    """Return what is left of a plan: all of it until it lapses, nothing afterwards."""
    if plan is None or (until is not None and until <= now):
        return Plan.FREE
    return plan


def effective_plan(
    own: tuple[Plan, datetime | None],
    trial: tuple[Plan | None, datetime | None],
    organizations: Iterable[tuple[Plan, datetime | None]],
    *,
    now: datetime,
) -> Plan:
    """Choose the highest of the user's own plan, a running trial, and the plans of active memberships."""
    candidates = [own, trial, *organizations]
    return max((running(plan, until, now=now) for plan, until in candidates), key=RANK.__getitem__)
