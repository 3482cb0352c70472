"""Signatures of notices: what Stripe's own library accepts, we accept, apart from the future and odd spellings."""

from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace

import pytest
import stripe._webhook
from stripe import SignatureVerificationError, WebhookSignature

from openslot.vendors.stripe.notices import NoticeRefused, verify

NOW = 1_773_644_400
SECRET, OTHER = "whsec_first", "whsec_second"
BODY = '{"id": "evt_1", "note": "größer → 漢"}'


@pytest.fixture(autouse=True)
def _their_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stripe._webhook, "time", SimpleNamespace(time=lambda: float(NOW)))


def sign(at: int | str = NOW, *, body: str = BODY, secret: str = SECRET) -> str:
    return WebhookSignature._compute_signature(f"{at}.{body}", secret)


def we_accept(header: str | None, *secrets: str, body: str = BODY) -> bool:
    try:
        verify(body.encode(), header, secrets=secrets or (SECRET,), now=datetime.fromtimestamp(NOW, UTC))
    except NoticeRefused:
        return False
    return True


def they_accept(header: str | None, secret: str = SECRET, body: str = BODY) -> bool:
    try:
        return bool(WebhookSignature.verify_header(body.encode(), header, secret, 300))
    except (SignatureVerificationError, TypeError):
        # It fails in a comparison of letters that are not ASCII.
        return False


ODD = ["t", "v1", "t=", "v1=", "", "=", "scheme=1", " v1=1", "t=x", "t=-5", f" t={NOW}", "v1=é", "t=+5", f"t={NOW}=1"]


def draw_piece(random: Random) -> str:
    """Draw what may stand between two commas: mostly what belongs there, and what an attacker would try."""
    kind = random.randrange(8)
    if kind <= 2:
        return f"t={random.choice([NOW, NOW, NOW - 300, NOW - 301, NOW + 300, NOW + 301, 0, 10**12])}"
    if kind == 3:
        return random.choice(ODD)
    at = random.choice([NOW, NOW, NOW - 300, NOW - 301, NOW + 301])
    secret, body = random.choice([SECRET, SECRET, OTHER]), random.choice([BODY, BODY, BODY + " "])
    scheme, rest = random.choice(["v1", "v1", "v1", "v0", "V1"]), random.choice(["", "", "", "", "=rest", " "])
    return f"{scheme}={sign(at, secret=secret, body=body)}{rest}"


def draw_header(random: Random) -> str:
    first = [f"t={NOW}"] if random.random() < 0.5 else []
    return ",".join([*first, *(draw_piece(random) for _ in range(random.randrange(1, 6)))])


def is_plain(header: str) -> bool:
    """Tell whether the header has one spelling only, and is not from the future: there we are stricter on purpose."""
    times = [part.split("=", 2)[1] for part in header.split(",") if part.startswith("t=")]
    is_number = bool(times) and times[0].isdigit() and not times[0].startswith("0")
    return header.isascii() and is_number and int(times[0]) <= NOW


def test_thousands_of_drawn_headers_are_judged_as_the_library_judges_them() -> None:
    random = Random(27)
    drawn = [draw_header(random) for _ in range(5000)]
    for header in drawn:
        assert not we_accept(header) or they_accept(header), header
        if is_plain(header):
            assert we_accept(header) == they_accept(header), header

    assert sum(map(we_accept, drawn)) > 300
    assert sum(is_plain(each) and not they_accept(each) for each in drawn) > 300


@pytest.mark.parametrize(("ahead", "is_accepted"), [(300, True), (301, False), (86_400, False)])
def test_the_future_is_refused_though_the_library_accepts_it(ahead: int, is_accepted: bool) -> None:
    header = f"t={NOW + ahead},v1={sign(NOW + ahead)}"

    assert they_accept(header)
    assert we_accept(header) == is_accepted


def test_while_a_secret_is_rolled_either_one_is_enough() -> None:
    assert we_accept(f"t={NOW},v1={sign(secret=OTHER)}", SECRET, OTHER)
    assert we_accept(f"t={NOW},v1={sign()}", SECRET, OTHER)
    assert not we_accept(f"t={NOW},v1={sign(secret='whsec_third')}", SECRET, OTHER)


def test_other_schemes_never_count() -> None:
    assert not we_accept(f"t={NOW},v0={sign()}")
    assert not we_accept(f"t={NOW},v2={sign()}")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        ",",
        f"v1={sign()}",
        f"t={NOW}",
        f"t=٣,v1={sign()}",
        f"t=+{NOW},v1={sign(f'+{NOW}')}",
        f"t=0{NOW},v1={sign(f'0{NOW}')}",
        f"t={NOW}.0,v1={sign()}",
        f"t={NOW},v1={sign().upper()}",
        f"t={NOW},v1={sign()[:-1]}",
        f"t={NOW}" + ",v1=" * 3000 + f",v1={sign()}",
        f"t={NOW},v1={sign()},é=1",
        f"t={'9' * 5000},v1={sign()}",
    ],
)
def test_hostile_headers_are_refused(header: str | None) -> None:
    assert not we_accept(header)


def test_without_a_secret_nothing_is_valid() -> None:
    assert not we_accept(f"t={NOW},v1={sign(secret='')}", "")
    assert not we_accept(f"t={NOW},v1={sign(secret=' ')}", " ")
    with pytest.raises(NoticeRefused):
        verify(BODY.encode(), f"t={NOW},v1={sign()}", secrets=(), now=datetime.fromtimestamp(NOW, UTC))


def test_one_changed_byte_is_noticed() -> None:
    header = f"t={NOW},v1={sign()}"

    assert we_accept(header)
    assert not we_accept(header, body=BODY.replace("evt_1", "evt_2"))
    assert not we_accept(header, body=BODY + "\n")


def test_a_refusal_repeats_nothing_of_the_secret() -> None:
    with pytest.raises(NoticeRefused) as refused:
        verify(b"{}", f"t={NOW},v1=0", secrets=(SECRET,), now=datetime.fromtimestamp(NOW, UTC) + timedelta(days=1))

    assert "whsec" not in str(refused.value)
