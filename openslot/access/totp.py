"""One-time codes of authenticator apps: RFC 6238 with SHA-1, six digits and steps of 30 seconds."""

import base64
import hmac
import secrets
from datetime import datetime

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

ISSUER = "Openslot"
STEP_SECONDS = 30
DIGITS = 6
SECRET_BYTES = 20
# Clocks differ and people type slowly: the code before and the code after the current one are accepted too.
WINDOW = 1


def new_secret() -> str:
    """Make a secret as apps read it, in base32."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def code_at(secret: str, step: int) -> str:
    """Return the code of one step."""
    return _totp(secret).generate(step * STEP_SECONDS).decode()


def step_of(now: datetime) -> int:
    """Return the number of the step that a time is in."""
    return int(now.timestamp()) // STEP_SECONDS


def find_step(secret: str, code: str, *, now: datetime) -> int | None:
    """Return the newest step within the window whose code this is; None if there is none."""
    present = step_of(now)
    # Every code is compared, whichever fits: the time tells nothing.
    fits = [
        step
        for step in range(present - WINDOW, present + WINDOW + 1)
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode(errors="replace"))
    ]
    return max(fits, default=None)


def setup_url(secret: str, account: str) -> str:
    """Write the link that an app reads from a QR code."""
    return _totp(secret).get_provisioning_uri(account, ISSUER)


def grouped(secret: str) -> str:
    """Write a secret in groups of four, for typing."""
    return " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))


def _totp(secret: str) -> TOTP:
    # SHA-1 is what every app supports; as an HMAC it is sound.
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303
