"""Who comes in: the client's address, and the only place where a credential becomes an actor, within its limit."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from operator import attrgetter
from typing import NamedTuple, NoReturn
from uuid import UUID

from msgspec import Struct

from openslot.domains.access import store
from openslot.domains.access.entries.store import CredentialLookup, look_up
from openslot.domains.access.errors import ScimPlanRequired, TooManyFailures
from openslot.domains.access.failures import note_kept_out, note_wrong
from openslot.domains.access.limits.operations import take_from_bucket
from openslot.domains.access.models import (
    AgentEntry,
    AsksFirst,
    AssistantEntry,
    CredentialKind,
    Entry,
    LimitVerdict,
    agent_of,
    is_wellformed,
    read_verdict,
    seconds_until,
)
from openslot.domains.access.sessions import notice_use
from openslot.domains.access.store import BUCKETS
from openslot.domains.accounts.members.store import to_own_memberships
from openslot.domains.accounts.models import AssistantPolicy
from openslot.domains.accounts.plans import PLANS_WITH_API, PLANS_WITH_SCIM, Plan, running
from openslot.domains.accounts.store import to_user
from openslot.platform.core.actor import PUBLIC, Actor, ActorKind
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.db import Row
from openslot.platform.core.errors import Unauthorized
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.outbound.targets import NAT64, embedded_address
from openslot.platform.core.work import Runtime

# How many times as often as other programs assistants from one address may fail to authenticate.
ASSISTANTS_FAIL = 20


class CredentialMatch(NamedTuple):
    """What the door has found for a credential, and the position of this request among those with the same one."""

    row: Row
    nth: int


async def enter(runtime: Runtime, kind: CredentialKind, *, authorization: str, address: str) -> Entry:
    """Authenticate the bearer of an active credential of this kind, and count the request."""
    credential, settings, rules = bearer(authorization), runtime.settings, RULES[kind]
    if not is_wellformed(credential, kind):
        await refuse_failed(runtime, address, kind)
    lookup = CredentialLookup(fingerprint(credential), failures_of(address, kind))
    row, nth = await runtime.batcher(rules.look_at).ask(lookup)
    if row["failed"] >= _failed_limit(settings, kind):
        note_kept_out(kind, address)
        raise TooManyFailures(retry_after=seconds_until(row["open_at"], row["now"]))
    entry = None
    if row["credential_id"] is not None:
        verdict = read_verdict(row, rules.limit(settings), nth=nth)
        entry = rules.admit(row, verdict, credential, runtime.clock())
    if entry is None:
        await refuse_failed(runtime, address, kind)
    return entry


def _admit_key(row: Row, verdict: LimitVerdict, _: str, now: datetime) -> Entry | None:
    user = to_user(row, now=now)
    if user.effective_plan not in PLANS_WITH_API:
        return None
    verdict.check()
    actor = Actor(kind=ActorKind.KEY, user_id=user.id, credential_id=row["credential_id"])
    return Entry(actor=actor, user=user, limit=verdict)


def _admit_agent(row: Row, verdict: LimitVerdict, key: str, _: datetime) -> Entry | None:
    """Admit an agent; the caller refuses it if it is over its limit."""
    if row["slug"] != agent_of(key):
        return None
    return AgentEntry(
        actor=Actor(kind=ActorKind.AGENT, agent=row["slug"], credential_id=row["credential_id"]),
        agent=row["slug"],
        key_id=row["credential_id"],
        autonomy_level=row["autonomy_level"],
        email_level=row["email_level"],
        scopes=tuple(row["scopes"]),
        limit=verdict,
    )


def _admit_provider(row: Row, verdict: LimitVerdict, _: str, now: datetime) -> Entry | None:
    """Admit an identity provider of an organization whose plan includes SCIM."""
    verdict.check()
    if running(Plan(row["plan"]), row["plan_until"], now=now) not in PLANS_WITH_SCIM:
        raise ScimPlanRequired
    actor = Actor(kind=ActorKind.SCIM, organization_id=row["organization_id"], credential_id=row["credential_id"])
    return Entry(actor=actor, limit=verdict)


def _admit_assistant(row: Row, verdict: LimitVerdict, _: str, now: datetime) -> Entry | None:
    verdict.check()
    user = to_user(row, now=now)
    return AssistantEntry(
        actor=assistant_actor(user.id, row["credential_id"], row["client_name"]),
        user=user,
        grant_id=row["credential_id"],
        client_name=row["client_name"],
        scopes=frozenset(row["scopes"]),
        resource=row["resource"],
        policies=frozenset(map(AssistantPolicy, row["policies"])),
        asks_first=AsksFirst(row["asks_first"]),
        limit=verdict,
    )


def assistant_actor(user_id: UUID, grant_id: UUID, client_name: str) -> Actor:
    return Actor(kind=ActorKind.KEY, user_id=user_id, credential_id=grant_id, assistant=client_name)


async def _look_at(
    kind: CredentialKind, runtime: Runtime, lookups: Sequence[CredentialLookup]
) -> list[CredentialMatch]:
    """Check all waiting requests at once; requests with the same credential are numbered in order."""
    limit, failed_limit = RULES[kind].limit(runtime.settings), _failed_limit(runtime.settings, kind)
    rows = await look_up(runtime.pool, kind, lookups, failed_limit=failed_limit, limit=limit, now=runtime.clock())
    asked: Counter[UUID] = Counter()
    matches = []
    for row in (rows[lookup] for lookup in lookups):
        if row["failed"] < failed_limit:
            asked[row["credential_id"]] += 1
        matches.append(CredentialMatch(row, asked[row["credential_id"]]))
    return matches


class CredentialRules(Struct, frozen=True):
    limit: Callable[[Settings], int]
    admit: Callable[[Row, LimitVerdict, str, datetime], Entry | None]
    """Makes the entry from what was found, or None if this credential does not open the door."""
    look_at: Callable[[Runtime, Sequence[CredentialLookup]], Awaitable[Sequence[CredentialMatch]]]


RULES = {
    kind: CredentialRules(attrgetter(limit), admit, partial(_look_at, kind))
    for kind, limit, admit in (
        (CredentialKind.API_KEY, "limit_key", _admit_key),
        (CredentialKind.AGENT_KEY, "limit_agent", _admit_agent),
        (CredentialKind.SCIM_TOKEN, "limit_scim", _admit_provider),
        (CredentialKind.ASSISTANT_TOKEN, "limit_assistant", _admit_assistant),
    )
}


async def take_place(runtime: Runtime, kind: CredentialKind, credential_id: UUID) -> LimitVerdict:
    """Count one more request of a credential that is inside already, as part of a batch."""
    limit = RULES[kind].limit(runtime.settings)
    return await take_from_bucket(runtime.pool, f"{BUCKETS[kind]}{credential_id}", limit)


async def enter_with_session(runtime: Runtime, token: str | None) -> Entry:
    """Authenticate the holder of a running session as its user, and everyone else as the public."""
    now = runtime.clock()
    row = await store.find_session(runtime.pool, fingerprint(token), now=now) if token else None
    if row is None:
        return Entry(actor=PUBLIC)
    user = to_user(row, now=now)
    notice_use(runtime, row["session_id"], seen_at=row["seen_at"], now=now)
    actor = Actor(kind=ActorKind.SESSION, user_id=user.id, credential_id=row["session_id"])
    return Entry(
        actor=actor,
        user=user,
        memberships=to_own_memberships(row),
        waiting_approvals=row["waiting_approvals"],
        waiting_requests=row["waiting_requests"],
        stopped_channels=tuple(row["stopped_channels"]),
        event_colors=tuple(row["event_colors"]),
        takes_payments=row["takes_payments"],
        has_number=row["has_number"],
        unread_threads=row["unread_threads"],
    )


async def refuse_failed(runtime: Runtime, address: str, kind: CredentialKind) -> NoReturn:
    verdict = await take_from_bucket(runtime.pool, failures_of(address, kind), _failed_limit(runtime.settings, kind))
    if not verdict.taken:
        note_kept_out(kind, address)
        raise TooManyFailures(retry_after=verdict.retry_after)
    note_wrong(kind)
    raise Unauthorized


def failures_of(address: str, kind: CredentialKind = CredentialKind.API_KEY) -> str:
    """Name the log of failed authentications of an address: one for every door but that of assistants.

    The assistants of many people come from the addresses of one company, and each begins without a token.
    """
    return f"{'assistants' if kind is CredentialKind.ASSISTANT_TOKEN else 'auth'}:{address}"


def _failed_limit(settings: Settings, kind: CredentialKind) -> int:
    limit = settings.limit_failed_auth
    return limit * ASSISTANTS_FAIL if kind is CredentialKind.ASSISTANT_TOKEN else limit


def bearer(authorization: str) -> str:
    scheme, _, credential = authorization.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""


UNKNOWN = "unknown"
LONGEST = 64


def client_address(peer: str | None, forwarded_for: str | None, trusted: Networks) -> str:
    """Name the client for counting: an IPv4 address, or the /64 of an IPv6 one.

    `X-Forwarded-For` is read from the right and only as far as trusted proxies wrote it.
    """
    address = _find_address(peer, forwarded_for, trusted)
    return UNKNOWN if address is None else _bucket(address)


def find_forwarded_client(peer: str | None, forwarded_for: str, trusted: Networks) -> str | None:
    """Name the client for whom a proxy sends a request; None if that is nobody but a trusted proxy itself."""
    address = _find_address(peer, forwarded_for, trusted)
    return None if address is None or _is_trusted(address, trusted) else _bucket(address)


def network_of(address: str) -> str:
    """Return the /48 that a client is in, by the name of `client_address`; an IPv4 address stands for itself."""
    return str(IPv6Network(address).supernet(new_prefix=48)) if "/" in address else address


def is_trusted(peer: str, trusted: Networks) -> bool:
    address = _parse(peer)
    return address is not None and _is_trusted(address, trusted)


def is_loopback(name: str) -> bool:
    """Return whether a peer or a `Host` is this machine itself."""
    host = _without_port(name.strip().lower())
    address = _parse(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_address(name: str) -> bool:
    return _parse(_without_port(name.strip())) is not None


def _find_address(peer: str | None, forwarded_for: str | None, trusted: Networks) -> IPv4Address | IPv6Address | None:
    address = _parse(peer or "")
    if address is not None and trusted and forwarded_for is not None and _is_trusted(address, trusted):
        return _walk(address, reversed(forwarded_for.split(",")), trusted)
    return address


def _walk(address: IPv4Address | IPv6Address, hops: Iterable[str], trusted: Networks) -> IPv4Address | IPv6Address:
    for hop in hops:
        nearer = _parse(_without_port(hop.strip()))
        if nearer is None:
            return address
        address = nearer
        if not _is_trusted(address, trusted):
            return address
    return address


def _without_port(hop: str) -> str:
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def _parse(text: str) -> IPv4Address | IPv6Address | None:
    # A longer text is not an address and must not fill the cache.
    return _parse_short(text) if len(text) <= LONGEST else None


# benchmarks/caches.py: read the address of a caller, in every request, 9.4 times
@lru_cache(maxsize=4096)
def _parse_short(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _bucket(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    # In a network without IPv4, everyone who has no IPv6 comes from this prefix.
    if address in NAT64:
        return str(embedded_address(address))
    return f"{IPv6Address(int(address) >> 64 << 64)}/64"


def _is_trusted(address: IPv4Address | IPv6Address, trusted: Networks) -> bool:
    return any(address in network for network in trusted)
