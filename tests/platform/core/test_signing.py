"""Signatures: for one purpose and one message, and made as others would make them."""

import hmac

from openslot.platform.core.ids import Signer, derive

OLD, NEW = "o" * 40, "n" * 40


def test_a_signature_holds_for_its_purpose_and_message_alone() -> None:
    signer = Signer((OLD,))
    signature = signer.sign("manage", b"booking 1")

    assert signer.is_signed("manage", b"booking 1", signature)
    assert Signer((NEW, OLD)).is_signed("manage", b"booking 1", signature)
    assert not signer.is_signed("audit", b"booking 1", signature)
    assert not signer.is_signed("manage", b"booking 2", signature)
    assert not Signer((NEW,)).is_signed("manage", b"booking 1", signature)


def test_a_signature_is_the_hmac_that_others_would_make() -> None:
    for message in (b"", b"booking 1", b"x" * 200):
        assert Signer((OLD,)).sign("manage", message) == hmac.digest(derive(OLD, "sign manage"), message, "sha256")
