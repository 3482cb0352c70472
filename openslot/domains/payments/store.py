"""The SQL of payments, refunds and revenue."""

from collections.abc import Collection
from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.store import LOCK_HOST
from openslot.domains.bookings.models import Booking, BookingDetails
from openslot.domains.bookings.store import BELONGINGS, DETAIL_COLUMNS, to_details
from openslot.domains.payments.models import (
    ListedPayment,
    Mode,
    PaymentFilter,
    RevenueTotal,
    StoredPayment,
    StoredRefund,
)
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.events import Change
from openslot.platform.core.rows import Rows

PAYMENTS = Rows(StoredPayment, "payments p", prefix="p_", spread={"price": ""})
REFUNDS = Rows(StoredRefund, "refunds r")
CHANGED = PAYMENTS.stored.without(
    "id", "booking_id", "host_id", "connection_id", "mode", "amount", "currency", "created_at"
)
REFUND_CHANGED = REFUNDS.stored.only("amount", "state", "vendor_id", "attempt", "error", "updated_at")
# States in which the invitee may still pay, or the money is on its way.
UNDER_WAY = "('opening', 'open', 'processing')"

FIND = f"""
select {PAYMENTS.columns}, {DETAIL_COLUMNS},
    u.disabled_at is not null or coalesce(u.left_at >= p.created_at, false) as host_left,
    exists (select from claims k left join claim_seats t on t.id = b.seat_id
            where k.id = b.claim_id and k.active and coalesce(t.active, true)) as has_time
from payments p join bookings b on b.id = p.booking_id {BELONGINGS} join users u on u.id = p.host_id
where p.id = $1"""
# The host's lock is taken in a statement of its own, so that what is read afterwards includes all earlier changes.
LOCK_PAYMENT = f"select {LOCK_HOST} from payments p join users u on u.id = p.host_id where p.id = $1"

# About an event `v`: of a booking that was paid for, and of a host who was paid, or is being paid.
IS_PAID = "exists (select from payments y where y.booking_id = v.subject_id and y.state = 'paid')"
HAS_PAYMENTS = "exists (select from payments y where y.host_id = v.tenant_id)"

DUE = f"""
select {PAYMENTS.columns} from (
    select p.*, row_number() over (partition by p.connection_id order by p.next_read_at) as place
    from payments p where p.next_read_at <= $1 and not exists (
        select from effects f where f.reaction = 'payments.read' and f.key = p.id::text
          and f.state in ('queued', 'running'))) p
order by p.place, p.next_read_at limit $2"""


class FoundPayment(Struct, frozen=True, kw_only=True):
    """A payment with its booking, and what decides about it."""

    payment: StoredPayment
    details: BookingDetails
    has_time: bool
    """Whether the booking's time, or its seat, is claimed for it."""
    host_left: bool
    """Whether the host's account is disabled or being deleted, or has left its organization since."""

    @property
    def booking(self) -> Booking:
        return self.details.booking


def insert_payment(payment: StoredPayment) -> Change:
    return Change(PAYMENTS.insert(), PAYMENTS.values(payment))


async def find_payment(db: Db, payment_id: UUID) -> FoundPayment | None:
    return _to_found(await db.fetchrow(FIND, payment_id))


async def lock_payment(db: Db, payment_id: UUID) -> FoundPayment | None:
    """Look a payment up and keep others from changing it, or any of its host's time, until the commit."""
    await db.execute(LOCK_PAYMENT, payment_id)
    return await find_payment(db, payment_id)


async def find_stored_payment(db: Db, booking_id: UUID) -> StoredPayment | None:
    row = await db.fetchrow(f"select {PAYMENTS.columns} from payments p where p.booking_id = $1", booking_id)
    return PAYMENTS.read(row) if row else None


async def list_of_bookings(db: Db, host_id: UUID, booking_ids: Collection[UUID]) -> list[StoredPayment]:
    statement = (
        f"select {PAYMENTS.columns} from payments p where p.host_id = $1 and p.booking_id = any($2) order by p.id"
    )
    return [PAYMENTS.read(row) for row in await db.fetch(statement, host_id, list(booking_ids))]


async def find_own(db: Db, host_id: UUID | None, payment_id: UUID) -> StoredPayment | None:
    """Find a payment of a host, or of any."""
    statement = f"select {PAYMENTS.columns} from payments p where p.id = $1 and ($2::uuid is null or p.host_id = $2)"
    row = await db.fetchrow(statement, payment_id, host_id)
    return PAYMENTS.read(row) if row else None


async def find_id(
    db: Db, connection_id: UUID, *, reference: UUID | None, session_id: str | None, intent_id: str | None
) -> UUID | None:
    """Find the payment that a notice is about: by our own id, the session, or what the session was paid with."""
    statement = """
        select id from payments where connection_id = $1 and (id = $2 or session_id = $3 or intent_id = $4)
        order by id = $2 desc nulls last limit 1"""
    found: UUID | None = await db.fetchval(statement, connection_id, reference, session_id, intent_id)
    return found


async def update_payment(db: Db, payment: StoredPayment) -> None:
    """Write what may change of a payment that is locked."""
    statement = f"update payments set {CHANGED.assign(first=2)} where id = $1"
    await db.execute(statement, payment.id, *CHANGED.values(payment))


async def keep_refund_until(db: Db, payment_id: UUID, until: datetime | None) -> None:
    await db.execute("update payments set refund_until = $2 where id = $1", payment_id, until)


async def forget_refused(db: Db, event_type_id: UUID) -> bool:
    """Forget that checkouts of an event type were refused; False if none was, or its host was not told."""
    statement = """update payments p set problems = array_remove(p.problems, 'checkout_refused') from bookings b
        where b.id = p.booking_id and b.event_type_id = $1 and 'checkout_refused' = any(p.problems)"""
    return count_of(await db.execute(statement, event_type_id)) > 0


async def list_due(db: Db, *, now: datetime, limit: int) -> list[StoredPayment]:
    """List payments to read that no worker was asked to read yet, of every account in turn."""
    return [PAYMENTS.read(row) for row in await db.fetch(DUE, now, limit)]


async def list_since(db: Db, host_id: UUID | None, *, since: datetime) -> list[StoredPayment]:
    """List the payments whose checkout was opened since then, of one host or of all, by their connections."""
    statement = f"""select {PAYMENTS.columns} from payments p
        where ($1::uuid is null or p.host_id = $1) and p.created_at >= $2 and p.session_id is not null
        order by p.connection_id, p.created_at, p.id"""
    return [PAYMENTS.read(row) for row in await db.fetch(statement, host_id, since)]


async def list_known(db: Db, ids: list[str]) -> set[str]:
    """Return those of some ids that are payments."""
    rows = await db.fetch("select id::text from payments where id = any($1::uuid[])", ids)
    return {row["id"] for row in rows}


async def read_soon_of_host(db: Db, host_id: UUID, *, now: datetime) -> None:
    """Let the payments that are under way be read at once."""
    statement = f"""update payments set next_read_at = least(next_read_at, $2)
        where host_id = $1 and state in {UNDER_WAY}"""
    await db.execute(statement, host_id, now)


async def count_under_way(db: Db, host_id: UUID) -> int:
    """Count the payments of a host that may still come, and the refunds that are still to be made."""
    statement = f"""select
        (select count(*) from payments where host_id = $1 and state in {UNDER_WAY})
        + (select count(*) from refunds r join payments p on p.id = r.payment_id
           where p.host_id = $1 and r.state = 'wanted')"""
    return int(await db.fetchval(statement, host_id))


async def list_refunds(db: Db, payment_id: UUID) -> list[StoredRefund]:
    statement = f"select {REFUNDS.columns} from refunds r where r.payment_id = $1 order by r.created_at, r.id"
    return [REFUNDS.read(row) for row in await db.fetch(statement, payment_id)]


async def find_refund(db: Db, refund_id: UUID) -> StoredRefund | None:
    row = await db.fetchrow(f"select {REFUNDS.columns} from refunds r where r.id = $1", refund_id)
    return REFUNDS.read(row) if row else None


async def save_refund(db: Db, refund: StoredRefund) -> None:
    """Insert a refund, or write what may change of it."""
    updated = ", ".join(f"{name} = excluded.{name}" for name in REFUND_CHANGED.names)
    await db.execute(f"{REFUNDS.insert()} on conflict (id) do update set {updated}", *REFUNDS.values(refund))


async def begin_attempt(db: Db, refund: StoredRefund, *, now: datetime) -> None:
    """Let a refund that is not made yet be asked for by another step."""
    statement = """update refunds set attempt = attempt + 1, updated_at = $3
        where id = $1 and attempt = $2 and state = 'wanted'"""
    await db.execute(statement, refund.id, refund.attempt, now)


async def add_revenue(
    db: Db, payment: StoredPayment, *, day: date, received: int = 0, refunded: int = 0, payments: int = 0
) -> None:
    statement = """
        insert into revenue as o (host_id, day, currency, mode, received, refunded, payments)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (host_id, day, currency, mode) do update set received = o.received + excluded.received,
            refunded = o.refunded + excluded.refunded, payments = o.payments + excluded.payments"""
    await db.execute(
        statement, payment.host_id, day, payment.price.currency, payment.mode, received, refunded, payments
    )


# What `status_of` in rules.py says, in SQL.
STATUS = """case
    when p.state <> 'paid' then 'pending'
    when p.dispute in ('open', 'lost') then 'disputed'
    when p.has_failed_refund then 'refund_failed'
    when p.refunded_amount >= p.amount then 'refunded'
    when p.refunded_amount > 0 then 'partially_refunded'
    else 'paid' end"""
FILTERED = f"""
payments p join bookings b on b.id = p.booking_id join event_types e on e.id = b.event_type_id
where ($1::uuid is null or p.host_id = $1) and ($2::text is null and p.state = 'paid' or {STATUS} = $2)
  and ($3::text is null or p.currency = $3) and ($4::timestamptz is null or p.paid_at >= $4)
  and ($5::timestamptz is null or p.paid_at < $5)
  and position(lower($6) in lower(b.invitee_name || ' ' || b.invitee_email)) > 0"""
LISTED = f"""
select n.total, l.* from (select count(*) as total from {FILTERED}) n left join (
    select {PAYMENTS.columns}, b.invitee_name, b.invitee_email, b.starts_at, e.name as event_type_name from {FILTERED}
    order by p.created_at desc, p.id desc limit $7 offset $8) l on true
order by l.p_created_at desc, l.p_id desc"""


async def list_payments(
    db: Db, host_id: UUID | None, wanted: PaymentFilter, *, limit: int, offset: int
) -> tuple[list[ListedPayment], int]:
    filters = (wanted.status, wanted.currency, wanted.since, wanted.before, wanted.search)
    rows = await db.fetch(LISTED, host_id, *filters, limit, offset)
    return [_to_listed(row) for row in rows if row["p_id"] is not None], rows[0]["total"]


async def sum_filtered(db: Db, host_id: UUID, wanted: PaymentFilter) -> list[RevenueTotal]:
    """Sum up what a filter finds; what was not paid adds nothing."""
    filters = (wanted.status, wanted.currency, wanted.since, wanted.before, wanted.search)
    statement = f"""
        select p.currency, p.mode, sum(p.amount)::bigint as received, sum(p.refunded_amount)::bigint as refunded,
            count(*) as payments
        from {FILTERED} and p.paid_at is not null group by p.currency, p.mode order by p.mode, p.currency"""
    rows = await db.fetch(statement, host_id, *filters)
    return [RevenueTotal(**{**row, "mode": Mode(row["mode"])}) for row in rows]


async def list_totals(
    db: Db, host_id: UUID, *, since: date | None = None, before: date | None = None
) -> list[RevenueTotal]:
    statement = """
        select currency, mode, sum(received)::bigint as received, sum(refunded)::bigint as refunded,
            sum(payments)::bigint as payments
        from revenue where host_id = $1 and ($2::date is null or day >= $2) and ($3::date is null or day < $3)
        group by currency, mode order by mode, currency"""
    rows = await db.fetch(statement, host_id, since, before)
    return [RevenueTotal(**{**row, "mode": Mode(row["mode"])}) for row in rows]


def _to_found(row: Row | None) -> FoundPayment | None:
    if row is None:
        return None
    return FoundPayment(
        payment=PAYMENTS.read(row), details=to_details(row), has_time=row["has_time"], host_left=row["host_left"]
    )


def _to_listed(row: Row) -> ListedPayment:
    return ListedPayment(
        payment=PAYMENTS.read(row),
        invitee_name=row["invitee_name"],
        invitee_email=row["invitee_email"],
        event_type_name=row["event_type_name"],
        starts_at=row["starts_at"],
    )
