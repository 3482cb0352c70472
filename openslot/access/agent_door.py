"""Authentication with an agent key: one of the ten agents, with the scopes of its key."""

from collections.abc import Sequence
from uuid import UUID

from openslot.access import limits
from openslot.access.door import BLOCKED, CredentialMatch, bearer, gate_of, look_at, refuse_failed
from openslot.access.entry_store import CredentialLookup
from openslot.access.keys import CredentialKind, agent_of, is_wellformed
from openslot.access.models import AgentEntry
from openslot.access.store import BUCKETS
from openslot.core.actor import Actor, ActorKind
from openslot.core.errors import TooMany
from openslot.core.secrets import fingerprint
from openslot.core.work import Runtime


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
