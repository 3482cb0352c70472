"""The doctor's check of the sign-in through an identity provider."""

import asyncio

from openslot.core.config import Settings
from openslot.core.outbound import Outbound
from openslot.doctor.finding import Finding, ok, problem
from openslot.integrations.oidc.errors import OidcUnreachable
from openslot.integrations.oidc.provider import find_provider, get_provider, read_keys_of, read_metadata


def look_at_oidc(chosen: Settings) -> Finding:
    """Check the provider's description, without signing anyone in."""
    provider = find_provider(chosen)
    if provider is None:
        return ok("oidc", "OPENSLOT_OIDC_ISSUER is not set: people sign in with their passwords.")
    try:
        asyncio.run(_read(chosen))
    except OidcUnreachable as fault:
        fix = "Correct OPENSLOT_OIDC_ISSUER; for a provider in a private network, OPENSLOT_OUTBOUND_ALLOW too"
        return problem("oidc", f"Nobody can sign in with {chosen.oidc_name}: {fault.reason}.", fix)
    return ok(
        "oidc", f"{provider.issuer} responds. The redirect URI that is registered there must be {provider.redirect_uri}"
    )


async def _read(chosen: Settings) -> None:
    outbound = Outbound(allow=chosen.outbound_allow)
    try:
        await read_keys_of(outbound, await read_metadata(outbound, get_provider(chosen)))
    finally:
        await outbound.close()
