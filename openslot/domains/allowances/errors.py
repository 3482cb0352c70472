"""What is refused when an allowance is used up."""

from datetime import timedelta

from openslot.domains.allowances.models import Allowance, CauseKind, Cost, CostCause
from openslot.platform.core.errors import RateLimited
from openslot.platform.i18n import PluralText, Text

COSTS = {
    Cost.MAIL: Text("emails to people who have never booked, confirmed or answered"),
    Cost.MESSAGE: Text("messages to numbers that have never answered"),
    Cost.TIME: Text("times taken without confirmation"),
    Cost.WAIT_LIST: Text("entries of wait lists"),
    Cost.PROVIDER_READ: Text("questions to the payment provider"),
    Cost.CODE: Text("codes by email"),
}
CAUSES = {
    CauseKind.ACCOUNT: Text("this account"),
    CauseKind.NETWORK: Text("your network"),
    CauseKind.MAIL_DOMAIN: Text("your email domain"),
    CauseKind.LIMIT: Text("everybody together"),
    CauseKind.COUNTRY: Text("this country"),
    CauseKind.DAY: Text("this day"),
}


class AllowanceUsed(RateLimited):
    """An account, a network or a mail domain has caused as much of one cost as it may for now."""

    code = "allowance_used"

    def __init__(self, cost: Cost, cause: CostCause, allowance: Allowance, *, retry_after: int) -> None:
        super().__init__(
            Text(
                "Used up: %(cost)s (%(most)s within %(window)s, for %(cause)s). Try again in %(time)s",
                cost=COSTS[cost],
                most=allowance.most,
                window=lasting(allowance.window),
                cause=CAUSES[cause.kind],
                time=lasting(timedelta(seconds=retry_after)),
            ),
            retry_after=retry_after,
        )
        self.cost = cost
        self.cause = cause
        self.allowance = allowance


def lasting(time: timedelta) -> Text:
    """Say how long something lasts, rounded up to a unit that people use."""
    seconds = int(time.total_seconds())
    if seconds < 60:
        return PluralText("%(count)s second", "%(count)s seconds", count=seconds)
    if seconds <= 2 * 3600:
        return PluralText("%(count)s minute", "%(count)s minutes", count=-(-seconds // 60))
    return PluralText("%(count)s hour", "%(count)s hours", count=-(-seconds // 3600))
