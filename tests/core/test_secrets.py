"""Secrets at rest, and signatures."""

import hmac
from pathlib import Path

import pytest

from openslot.core.errors import StartupError
from openslot.core.secrets import SealBroken, Secrets, derive, load_secrets

OLD, NEW = "o" * 40, "n" * 40


def test_what_is_sealed_opens_again_and_does_not_show() -> None:
    secrets = Secrets((OLD,))
    sealed = secrets.seal("whsec_ünïcode")

    assert secrets.open(sealed) == "whsec_ünïcode"
    assert b"whsec" not in sealed
    assert secrets.seal("same") != secrets.seal("same")


def test_after_a_rotation_old_seals_open_and_can_be_renewed() -> None:
    sealed = Secrets((OLD,)).seal("token")
    both = Secrets((NEW, OLD))
    renewed = both.reseal(sealed)

    assert both.open(sealed) == "token"
    assert Secrets((NEW,)).open(renewed) == "token"
    with pytest.raises(SealBroken):
        Secrets((NEW,)).open(sealed)


@pytest.mark.parametrize("damage", [b"", b"x", b"gAAAA", b"\x00\xff"])
def test_a_damaged_seal_is_refused(damage: bytes) -> None:
    with pytest.raises(SealBroken):
        Secrets((OLD,)).open(damage)
    with pytest.raises(SealBroken):
        Secrets((OLD,)).reseal(damage)


def test_a_signature_holds_for_its_purpose_and_message_alone() -> None:
    secrets = Secrets((OLD,))
    signature = secrets.sign("manage", b"booking 1")

    assert secrets.is_signed("manage", b"booking 1", signature)
    assert Secrets((NEW, OLD)).is_signed("manage", b"booking 1", signature)
    assert not secrets.is_signed("audit", b"booking 1", signature)
    assert not secrets.is_signed("manage", b"booking 2", signature)
    assert not Secrets((NEW,)).is_signed("manage", b"booking 1", signature)


def test_a_signature_is_the_hmac_that_others_would_make() -> None:
    for message in (b"", b"booking 1", b"x" * 200):
        assert Secrets((OLD,)).sign("manage", message) == hmac.digest(derive(OLD, "sign manage"), message, "sha256")


@pytest.mark.parametrize("configured", ["", "short", f"{NEW},short", ","])
def test_a_weak_key_is_refused_at_the_start(configured: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="OPENSLOT_SECRET_KEY"):
        load_secrets(configured, tmp_path)
