"""Claims: what a provider says about a person."""

from collections.abc import Mapping

from openslot.core.text import is_line, is_visible, parse_email
from openslot.core.zones import find_zone
from openslot.integrations.oidc.models import ProvenIdentity

LONGEST_NAME = 200

Claims = Mapping[str, object]


def read_identity(claims: Claims, *, issuer: str) -> ProvenIdentity:
    """Return the person that claims are about; only the word `true` makes an email address a verified one."""
    email = _text(claims, "email")
    try:
        email = parse_email(email) if email else None
    except ValueError:
        email = None
    name, zone = _text(claims, "name"), _text(claims, "zoneinfo")
    return ProvenIdentity(
        issuer=issuer,
        subject=str(claims["sub"]),
        email=email,
        is_email_verified=claims.get("email_verified") is True,
        name=name[:LONGEST_NAME] if name and is_line(name) and is_visible(name) else None,
        zone=zone if zone and find_zone(zone) else None,
        locale=_text(claims, "locale"),
    )


def _text(claims: Claims, name: str) -> str | None:
    found = claims.get(name)
    return found.strip() or None if isinstance(found, str) else None
