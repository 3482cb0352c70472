"""What payments do because time passed: read those that are due, and forget those that nobody paid for."""

from datetime import timedelta

from openslot.domains.bookings import pending
from openslot.domains.payments import store
from openslot.domains.payments.models import StoredPayment
from openslot.domains.payments.reactions import READ, ReadPlan
from openslot.platform.core.work import Periodic, Work
from openslot.platform.jobs.batches import repeat
from openslot.platform.jobs.each import serve_each

AT_ONCE = 500
KEPT_FOR = timedelta(days=30)


async def read_due(work: Work) -> str:
    """Plan to read the payments whose time has come; the workers share their providers fairly."""
    due = await store.list_due(work.db, now=work.now, limit=AT_ONCE)

    async def plan(payment: StoredPayment) -> None:
        await work.plan(
            READ,
            str(payment.id),
            due_at=work.now,
            payload=ReadPlan(payment.id),
            tenant_id=payment.host_id,
            target=str(payment.connection_id),
        )

    await serve_each(work, "payments.read", due, plan, key=lambda each: each.id)
    return f"{len(due)} payments to read"


async def tidy(work: Work) -> str:
    """Delete bookings that were never paid for, 30 days after they could have been."""
    before = work.now - KEPT_FOR
    gone = await repeat(lambda limit: pending.erase_some_unpaid(work, before=before, limit=limit))
    return f"{gone} unpaid bookings removed"


PAYMENT_JOBS = (
    Periodic(name="payments.read", expression="* * * * *", run=read_due, transaction="none"),
    Periodic(name="payments.tidy", expression="41 4 * * *", run=tidy, transaction="none"),
)
