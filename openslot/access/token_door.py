"""Authentication with a SCIM token: an organization's identity provider, within its limit."""

from collections.abc import Sequence

from openslot.access import limits
from openslot.access.door import BLOCKED, CredentialMatch, bearer, gate_of, look_at, refuse_failed
from openslot.access.entry_store import CredentialLookup
from openslot.access.errors import PlanWithoutScim
from openslot.access.keys import CredentialKind, is_wellformed
from openslot.access.models import Entry
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
