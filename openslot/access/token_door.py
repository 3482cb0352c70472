"""Authentication with a SCIM token: an organization's identity provider, within its limit."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from openslot.access import limits
from openslot.access.door import BLOCKED, KeyMatch, bearer, gate_of, refuse_failed
from openslot.access.errors import PlanWithoutScim
from openslot.access.keys import CredentialKind, is_wellformed
from openslot.access.models import Entry
from openslot.access.token_store import TokenLookup, enter_with_tokens
from openslot.accounts.plans import PLANS_WITH_SCIM, Plan, running
from openslot.core.actor import Actor, ActorKind
from openslot.core.errors import TooMany
from openslot.core.secrets import fingerprint
from openslot.core.work import Runtime


async def enter_with_token(runtime: Runtime, authorization: str, address: str) -> Entry:
    """Authenticate the bearer of an active SCIM token of an organization whose plan includes SCIM."""
    token, settings = bearer(authorization), runtime.settings
    if not is_wellformed(token, CredentialKind.SCIM_TOKEN):
        await refuse_failed(runtime, address)
    match = await runtime.batcher(_look_at_tokens).ask(TokenLookup(fingerprint(token), gate_of(address)))
    row = match.row
    if row["failed"] >= settings.limit_failed_auth:
        raise TooMany(BLOCKED, retry_after=limits.seconds_until(row["gate_free_at"], row["now"]))
    if row["token_id"] is None:
        await refuse_failed(runtime, address)
    verdict = limits.read_verdict(row, settings.limit_scim, turn=match.turn)
    verdict.check()
    if running(Plan(row["plan"]), row["plan_until"], now=runtime.clock()) not in PLANS_WITH_SCIM:
        raise PlanWithoutScim
    actor = Actor(kind=ActorKind.SCIM, organization_id=row["organization_id"], credential_id=row["token_id"])
    return Entry(actor=actor, headers=verdict.headers())


async def _look_at_tokens(runtime: Runtime, lookups: Sequence[TokenLookup]) -> list[KeyMatch]:
    """Check all waiting requests at once; requests with the same token are numbered in order."""
    settings = runtime.settings
    rows = await enter_with_tokens(
        runtime.pool,
        lookups,
        failed_limit=settings.limit_failed_auth,
        token_limit=settings.limit_scim,
        now=runtime.clock(),
    )
    turns: Counter[UUID] = Counter()
    matches = []
    for row in (rows[lookup] for lookup in lookups):
        if row["failed"] < settings.limit_failed_auth:
            turns[row["token_id"]] += 1
        matches.append(KeyMatch(row, turns[row["token_id"]]))
    return matches
