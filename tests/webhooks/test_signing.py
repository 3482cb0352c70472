"""Signatures: the published vector, and the library's own verdict on what was sent."""

from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from openslot.core.ids import new_id
from openslot.webhooks.rules import PREFIX, new_secret, sign, signed_headers

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
