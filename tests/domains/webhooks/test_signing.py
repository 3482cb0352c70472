"""Signatures: the published vector, and the library's own verdict on what was sent."""

from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from openslot.domains.webhooks.rules import PREFIX, SignatureRefused, new_secret, sign, signed_headers, verify
from openslot.platform.core.ids import new_id

VECTOR_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VECTOR_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
VECTOR_AT = datetime.fromtimestamp(1614265330, UTC)
VECTOR_BODY = b'{"test": 2432232314}'
VECTOR_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_published_vector_is_met() -> None:
    assert sign(VECTOR_ID, VECTOR_BODY, secrets=[VECTOR_SECRET], at=VECTOR_AT) == VECTOR_SIGNATURE


def test_each_of_two_secrets_verifies_and_no_other_does() -> None:
    old, new, foreign = new_secret(), new_secret(), new_secret()
    body = '{"data":"Zürich"}'.encode()
    headers = signed_headers(new_id(), body, secrets=[new, old], at=datetime.now(UTC))

    assert Webhook(old).verify(body, headers) == Webhook(new).verify(body, headers) == {"data": "Zürich"}
    with pytest.raises(WebhookVerificationError):
        Webhook(foreign).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(body + b" ", headers)


def test_a_secret_is_long_and_never_the_same() -> None:
    made = {new_secret() for _ in range(100)}

    assert len(made) == 100
    assert all(secret.startswith(PREFIX) and len(secret) == len(PREFIX) + 44 for secret in made)


@pytest.mark.parametrize("minutes", [-6, -5, 0, 5, 6])
def test_what_the_library_verifies_we_verify(minutes: int) -> None:
    now = datetime.now(UTC)
    secret, body = new_secret(), '{"data":"Zürich"}'.encode()
    headers = signed_headers(new_id(), body, secrets=[new_secret(), secret], at=now + timedelta(minutes=minutes))
    is_now = abs(minutes) < 6
    try:
        # The library reads the clock a moment later.
        Webhook(secret).verify(body, {**headers})
        accepts = True
    except WebhookVerificationError:
        accepts = minutes == -5

    assert accepts == is_now
    if is_now:
        assert verify(headers, body, secrets=[secret], now=now.replace(microsecond=0)) == headers["webhook-id"]
        return
    with pytest.raises(SignatureRefused):
        verify(headers, body, secrets=[secret], now=now)
