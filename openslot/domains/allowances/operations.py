"""The ledger of allowances: may this cause spend that? Exact over all processes, and undone with the transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import prometheus_client
import structlog
from msgspec.structs import replace

from openslot.domains.allowances import store
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.models import Allowance, CauseKind, Cost, CostCause, RefusedCost
from openslot.domains.allowances.rules import (
    DAY,
    ON_PAGE,
    PARTS,
    allow,
    find_free_part,
    find_mail_domain,
    find_network,
    is_little,
)
from openslot.domains.allowances.store import AskedBucket, Note
from openslot.platform.core.actor import ActorKind
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Row
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.jobs.batches import delete_old

CLIENT_ADDRESS: ContextVar[str | None] = ContextVar("CLIENT_ADDRESS", default=None)
"""The client address of the current request, as `access.door.client_address` names it."""
REFUSED = prometheus_client.Counter(
    "openslot_allowance_refused",
    "Requests that were refused because who caused them had used an allowance up.",
    ("cost", "cause"),
)
MAX_WAITING = 1000
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")

log = structlog.get_logger()


async def causes_of(work: Work, *, email: str | None = None, account_id: UUID | None = None) -> tuple[CostCause, ...]:
    """Name who causes what is asked for: the account that asks, the network it comes from, the domain of an address.

    Who is trusted by name is asked for nothing else. `account_id` names the account if it is not the actor's.
    """
    account = await find_account(work, account_id or work.actor.user_id)
    if account is not None and account.is_trusted:
        return (account,)
    if account is None and work.actor.kind is not ActorKind.PUBLIC:
        # The operator, or an identity provider.
        return ()
    network = find_network(CLIENT_ADDRESS.get() or "")
    found = (account, CostCause(kind=CauseKind.NETWORK, name=network) if network else None)
    domain = find_mail_domain(email) if email else None
    claimed = CostCause(kind=CauseKind.MAIL_DOMAIN, name=domain) if domain else None
    return tuple(each for each in (*found, claimed) if each is not None)


async def find_account(work: Work, user_id: UUID | None) -> CostCause | None:
    """Read the account as a cause; None if nobody asks for whom there is an account."""
    if user_id is None:
        return None
    # Before it was recorded how accounts came about, nobody could sign up where it was not open to all.
    trusts_unknown = work.runtime.settings.sign_up != "open"
    return await store.find_account(work.db, user_id, now=work.now, trusts_unknown=trusts_unknown)


async def spend(
    work: Work,
    cost: Cost,
    causes: Sequence[CostCause],
    *,
    amount: int = 1,
    scope: str | None = None,
    host_id: UUID | None = None,
    most: int | None = None,
) -> None:
    """Spend an amount for each of the causes, or nothing at all: `AllowanceUsed` names the one that may not.

    It belongs to the caller's transaction and is rolled back with it. `scope` narrows what is counted, for example to
    one host's day, and `most` is what is allowed there instead of their allowance. The host is told of a refusal, and
    so is an account that asked itself.
    """
    used = await find_used_allowance(work, cost, causes, amount=amount, scope=scope, most=most)
    if used is not None:
        note_refused_cost(work.runtime, cost, used.cause, used.allowance, host_id=host_id)
        raise used


async def has_spent(
    work: Work,
    cost: Cost,
    causes: Sequence[CostCause],
    *,
    scope: str | None = None,
    host_id: UUID | None = None,
    most: int | None = None,
) -> bool:
    """Spend one if each of the causes may; otherwise nothing is refused, and whoever asks gets less.

    That is told as a refusal is.
    """
    try:
        await spend(work, cost, causes, scope=scope, host_id=host_id, most=most)
    except AllowanceUsed:
        return False
    return True


async def spend_on_page(work: Work, host_id: UUID) -> None:
    """Spend one email that somebody sets off on the page of a host for whom nobody vouches; of others none is counted.

    Whoever signs up may send few emails, and makes many networks mail their own page's confirmations and codes.
    """
    host = await find_account(work, host_id)
    if host is not None and not host.is_trusted:
        most = ON_PAGE * allow_here(work.runtime.settings, Cost.MAIL, host).most
        await spend(work, Cost.MAIL, [host], scope="page", host_id=host_id, most=most)


async def has_spent_on_page(work: Work, host_id: UUID) -> bool:
    try:
        await spend_on_page(work, host_id)
    except AllowanceUsed:
        return False
    return True


async def find_used_allowance(
    work: Work,
    cost: Cost,
    causes: Sequence[CostCause],
    *,
    amount: int = 1,
    scope: str | None = None,
    most: int | None = None,
) -> AllowanceUsed | None:
    """Spend an amount for each of the causes, or find the one that may not; nobody is told."""
    if not causes or amount <= 0:
        return None
    asked = {_name(cost, each, scope): each for each in causes}
    allowed = {bucket: allow_here(work.runtime.settings, cost, each) for bucket, each in asked.items()}
    entries = [
        _ask(bucket, allowance if most is None else replace(allowance, most=most), work)
        for bucket, allowance in allowed.items()
    ]
    rows = await store.spend(work.db, entries, amount, now=work.now)
    short = [each for each in entries if not rows[each.bucket]["given"]]
    if not short or _is_claimed(asked, entries, rows, short):
        return None
    if given := [bucket for bucket, row in rows.items() if row["given"]]:
        await store.give_back(work.db, given, amount)
    waits = {each: _wait(each, rows[each.bucket]["spent"], rows[each.bucket]["part"], amount, work) for each in short}
    longest = max(short, key=waits.__getitem__)
    return AllowanceUsed(cost, asked[longest.bucket], longest.allowance, retry_after=waits[longest])


def _is_claimed(
    asked: Mapping[str, CostCause],
    entries: Sequence[AskedBucket],
    rows: Mapping[str, Row],
    short: Sequence[AskedBucket],
) -> bool:
    """Answer whether only a mail domain is short that anybody may have named, and the network has caused little."""
    networks = [each for each in entries if asked[each.bucket].kind is CauseKind.NETWORK]
    return all(asked[each.bucket].kind is CauseKind.MAIL_DOMAIN for each in short) and any(
        is_little(rows[each.bucket]["spent"], each.allowance.most) for each in networks
    )


def allow_here(settings: Settings, cost: Cost, cause: CostCause) -> Allowance:
    """Decide how much of a cost is allowed to a cause by the operator's settings."""
    return allow(cost, cause, base=getattr(settings, f"allowance_{cost}"))


def note_refused_cost(
    runtime: Runtime, cost: Cost, cause: CostCause, allowance: Allowance, *, host_id: UUID | None = None
) -> None:
    """Count a refusal for the metrics, and have its host told of it: the transaction that is refused is rolled back."""
    REFUSED.labels(cost, cause.kind).inc()
    user_id = UUID(cause.name) if cause.kind is CauseKind.ACCOUNT and host_id is None else host_id
    if user_id is not None:
        runtime.batcher(_note).tell(Note(user_id, cost, cause.kind, allowance.most), max_waiting=MAX_WAITING)


async def list_refusals(work: Work, user_id: UUID) -> list[RefusedCost]:
    """List what was refused to a host, or to others on the host's pages, within the last day."""
    return await store.list_refusals(work.db, user_id, since=work.now - DAY)


async def tidy_allowances(work: Work) -> str:
    """Remove what was spent in windows that are over, and refusals that nobody is told of any more."""
    spent = await delete_old(work.db, "allowances", "kept_until", before=work.now, key="bucket")
    await store.delete_refusals(work.db, before=work.now - 7 * DAY)
    return f"{spent} allowances removed"


async def _note(runtime: Runtime, notes: Sequence[Note]) -> Sequence[None]:
    now = runtime.clock()
    try:
        await store.note_refusals(runtime.pool, list(Counter(notes).items()), now=now, told_since=now - DAY)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as fault:
        log.warning("refusals were not noted", refusals=len(notes), error=str(fault))
    return [None] * len(notes)


def _name(cost: Cost, cause: CostCause, scope: str | None) -> str:
    return " ".join(filter(None, (cost, cause.kind, cause.name, scope)))


def _ask(bucket: str, allowance: Allowance, work: Work) -> AskedBucket:
    return AskedBucket(bucket, allowance, part=(work.now - EPOCH) // (allowance.window / PARTS))


def _wait(asked: AskedBucket, spent: Sequence[int], newest: int, amount: int, work: Work) -> int:
    """Return after how many whole seconds so much is free; after a window if it is more than is ever allowed."""
    passed = find_free_part(spent, amount=amount, most=asked.allowance.most)
    seconds = (EPOCH + (newest + passed) * asked.width - work.now) / timedelta(seconds=1)
    return max(1, -int(-seconds // 1))


ALLOWANCE_JOBS = (
    Periodic(name="allowances.tidy", expression="4-59/5 * * * *", run=tidy_allowances, transaction="none"),
)
