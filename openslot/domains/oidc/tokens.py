"""ID tokens: who signed them, for whom, and until when."""

import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime

from joserfc import jws, jwt
from joserfc.errors import ClaimError, JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from openslot.domains.oidc.models import Claims, InvalidOidcResponse, OidcAttempt, Provider
from openslot.platform.core.text import is_line

# Signatures with public keys alone: with `none` or HS256, anyone who knows the public key could sign.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
LEEWAY_SECONDS = 60
LONGEST_TOKEN, LONGEST_SUBJECT = 65_536, 255


class UnknownKey(Exception):
    """The token names a key that is not among those that were read."""


def read_keys(found: Sequence[Mapping[str, object]]) -> tuple[Key, ...]:
    """Read the keys that can verify a signature; others are left out."""
    keys = []
    for each in found:
        if each.get("use") == "enc":
            continue
        try:
            key = import_key(dict(each))  # type: ignore[arg-type]
        except (JoseError, ValueError, TypeError, KeyError):
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):
            keys.append(key)
    return tuple(keys)


def check_token(token: str, keys: Sequence[Key], provider: Provider, attempt: OidcAttempt, *, now: datetime) -> Claims:
    """Return what a token says if the provider has signed it, for us, for this very sign-in, and it has not expired."""
    claims = _check_signature(token, keys)
    seconds = int(now.timestamp())
    registry = jwt.JWTClaimsRegistry(
        now=seconds,
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True},
    )
    try:
        registry.validate(dict(claims))
    except ClaimError as fault:
        raise InvalidOidcResponse(f"a claim is wrong: {fault}") from None
    nonce, subject = claims["nonce"], claims["sub"]
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(errors="replace"), attempt.nonce.encode()):
        raise InvalidOidcResponse("the nonce is another one")
    if not isinstance(subject, str) or not 1 <= len(subject) <= LONGEST_SUBJECT or not is_line(subject):
        raise InvalidOidcResponse("the subject is too long, or has characters that are not allowed")
    _check_authorized_party(claims, provider.client_id)
    return claims


def _check_signature(token: str, keys: Sequence[Key]) -> Claims:
    if len(token) > LONGEST_TOKEN:
        raise InvalidOidcResponse("the token is too long")
    try:
        header = jws.extract_compact(token.encode(errors="replace")).headers()
    except (JoseError, ValueError):
        raise InvalidOidcResponse("the token can't be read") from None
    algorithm, name = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS:
        raise InvalidOidcResponse("the token is signed with an algorithm that is not allowed")
    fitting = [key for key in keys if name is None or key.kid == name]
    if not fitting:
        raise UnknownKey
    for key in fitting:
        try:
            return jwt.decode(token, key, algorithms=[str(algorithm)]).claims
        except (JoseError, ValueError, TypeError):
            continue
    raise InvalidOidcResponse("the signature is wrong")


def _check_authorized_party(claims: Claims, client_id: str) -> None:
    audience, party = claims["aud"], claims.get("azp")
    if isinstance(audience, list) and len(audience) > 1 and party is None:
        raise InvalidOidcResponse("the token is for several, and does not say for whom it was made")
    if party is not None and party != client_id:
        raise InvalidOidcResponse("the token was made for somebody else")
