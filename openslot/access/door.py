"""Authentication and rate limits: the only place where a credential becomes an actor."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, NoReturn
from uuid import UUID

from openslot.access import limits, store
from openslot.access.entry_store import CredentialLookup, look_up
from openslot.access.errors import PlanWithoutScim
from openslot.access.keys import CredentialKind, agent_of, is_wellformed
from openslot.access.models import AgentEntry, Entry
from openslot.access.sessions import notice_use
from openslot.access.store import BUCKETS
from openslot.accounts.member_store import to_own_memberships
from openslot.accounts.plans import PLANS_WITH_API, PLANS_WITH_SCIM, Plan, running
from openslot.accounts.store import to_user
from openslot.core.actor import PUBLIC, Actor, ActorKind
from openslot.core.db import Row
from openslot.core.errors import TooMany, Unauthorized
from openslot.core.secrets import fingerprint
from openslot.core.work import Runtime
from openslot.i18n import Text

BLOCKED = Text("Too many failed authentications from this address")


class CredentialMatch(NamedTuple):
    """What the door has found for a credential, and the position of this request among those with the same one."""

    row: Row
    turn: int


async def enter_with_key(runtime: Runtime, authorization: str, address: str) -> Entry:
    """Authenticate the bearer of an active API key, within its limit."""
    key = bearer(authorization)
    if not is_wellformed(key, CredentialKind.API_KEY):
        await refuse_failed(runtime, address)
    matches = await runtime.batcher(_look_at_keys).ask(CredentialLookup(fingerprint(key), gate_of(address)))
    settings, row = runtime.settings, matches.row
    if row["failed"] >= settings.limit_failed_auth:
        raise TooMany(BLOCKED, retry_after=limits.seconds_until(row["gate_free_at"], row["now"]))
    user = to_user(row, now=runtime.clock()) if row["credential_id"] is not None else None
    if user is None or user.effective_plan not in PLANS_WITH_API:
        await refuse_failed(runtime, address)
    verdict = limits.read_verdict(row, settings.limit_key, turn=matches.turn)
    verdict.check()
    actor = Actor(kind=ActorKind.KEY, user_id=user.id, credential_id=row["credential_id"])
    return Entry(actor=actor, user=user, limit=verdict)


async def _look_at_keys(runtime: Runtime, lookups: Sequence[CredentialLookup]) -> list[CredentialMatch]:
    return await look_at(runtime, CredentialKind.API_KEY, lookups, limit=runtime.settings.limit_key)


async def look_at(
    runtime: Runtime, kind: CredentialKind, lookups: Sequence[CredentialLookup], *, limit: int
) -> list[CredentialMatch]:
    """Check all waiting requests at once; requests with the same credential are numbered in order."""
    failed_limit = runtime.settings.limit_failed_auth
    rows = await look_up(runtime.pool, kind, lookups, failed_limit=failed_limit, limit=limit, now=runtime.clock())
    turns: Counter[UUID] = Counter()
    matches = []
    for row in (rows[lookup] for lookup in lookups):
        if row["failed"] < failed_limit:
            turns[row["credential_id"]] += 1
        matches.append(CredentialMatch(row, turns[row["credential_id"]]))
    return matches


async def enter_with_session(runtime: Runtime, token: str | None) -> Entry:
    """Authenticate the holder of a running session as its user, and everyone else as the public."""
    now = runtime.clock()
    row = await store.find_session(runtime.pool, fingerprint(token), now=now) if token else None
    if row is None:
        return Entry(actor=PUBLIC)
    user = to_user(row, now=now)
    notice_use(runtime, row["session_id"], seen_at=row["seen_at"], now=now)
    actor = Actor(kind=ActorKind.SESSION, user_id=user.id, credential_id=row["session_id"])
    return Entry(actor=actor, user=user, memberships=to_own_memberships(row))


async def refuse_failed(runtime: Runtime, address: str) -> NoReturn:
    """Charge a failed authentication to its address, and refuse it."""
    verdict = await limits.take(runtime.pool, gate_of(address), runtime.settings.limit_failed_auth)
    if not verdict.taken:
        raise TooMany(BLOCKED, retry_after=verdict.retry_after)
    raise Unauthorized


def gate_of(address: str) -> str:
    """Name the log of failed authentications of an address: one for every door."""
    return f"auth:{address}"


def bearer(authorization: str) -> str:
    """Take the credential out of an Authorization header; empty where there is none."""
    scheme, _, credential = authorization.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""


async def enter_with_agent_key(runtime: Runtime, authorization: str, address: str) -> AgentEntry:
    """Authenticate the bearer of an active agent key; the caller refuses it if it is over its limit."""
    key, settings = bearer(authorization), runtime.settings
    if not is_wellformed(key, CredentialKind.AGENT_KEY):
        await refuse_failed(runtime, address)
    match = await runtime.batcher(_look_at_agent_keys).ask(CredentialLookup(fingerprint(key), gate_of(address)))
    row = match.row
    if row["failed"] >= settings.limit_failed_auth:
        raise TooMany(BLOCKED, retry_after=limits.seconds_until(row["gate_free_at"], row["now"]))
    if row["credential_id"] is None or row["slug"] != agent_of(key):
        await refuse_failed(runtime, address)
    verdict = limits.read_verdict(row, settings.limit_agent, turn=match.turn)
    return AgentEntry(
        actor=Actor(kind=ActorKind.AGENT, agent=row["slug"], credential_id=row["credential_id"]),
        agent=row["slug"],
        key_id=row["credential_id"],
        autonomy_level=row["autonomy_level"],
        email_level=row["email_level"],
        scopes=tuple(row["scopes"]),
        limit=verdict,
    )


async def take_place(runtime: Runtime, key_id: UUID) -> limits.LimitVerdict:
    """Count one more request of a key that is inside already, as part of a batch."""
    return await limits.take(runtime.pool, f"{BUCKETS[CredentialKind.AGENT_KEY]}{key_id}", runtime.settings.limit_agent)


async def _look_at_agent_keys(runtime: Runtime, lookups: Sequence[CredentialLookup]) -> list[CredentialMatch]:
    return await look_at(runtime, CredentialKind.AGENT_KEY, lookups, limit=runtime.settings.limit_agent)


async def enter_with_token(runtime: Runtime, authorization: str, address: str) -> Entry:
    """Authenticate the bearer of an active SCIM token of an organization whose plan includes SCIM."""
    token, settings = bearer(authorization), runtime.settings
    if not is_wellformed(token, CredentialKind.SCIM_TOKEN):
        await refuse_failed(runtime, address)
    match = await runtime.batcher(_look_at_tokens).ask(CredentialLookup(fingerprint(token), gate_of(address)))
    row = match.row
    if row["failed"] >= settings.limit_failed_auth:
        raise TooMany(BLOCKED, retry_after=limits.seconds_until(row["gate_free_at"], row["now"]))
    if row["credential_id"] is None:
        await refuse_failed(runtime, address)
    verdict = limits.read_verdict(row, settings.limit_scim, turn=match.turn)
    verdict.check()
    if running(Plan(row["plan"]), row["plan_until"], now=runtime.clock()) not in PLANS_WITH_SCIM:
        raise PlanWithoutScim
    actor = Actor(kind=ActorKind.SCIM, organization_id=row["organization_id"], credential_id=row["credential_id"])
    return Entry(actor=actor, limit=verdict)


async def _look_at_tokens(runtime: Runtime, lookups: Sequence[CredentialLookup]) -> list[CredentialMatch]:
    return await look_at(runtime, CredentialKind.SCIM_TOKEN, lookups, limit=runtime.settings.limit_scim)
