"""Signatures of notices: what Twilio's own library accepts, we accept, and nothing else."""

import hashlib
from random import Random
from urllib.parse import urlencode

import pytest
from twilio.request_validator import RequestValidator

from openslot.domains.messaging.ports import BadNotice
from openslot.vendors.twilio.signature import FORM, MAX_BYTES, MAX_FIELDS, read_pairs, verify

TOKEN, SECOND, FOREIGN = "1" * 32, "2" * 32, "3" * 32
URL = "https://openslot.example/api/notices/twilio/018f/messages"
BODY = urlencode({"From": "+4915112345678", "Body": "größer → 漢 & mehr", "Empty": ""}).encode()
WORDS = ("", " ", "a", "A", "ä", "漢字", "🙂", "+49151", "a=b&c", "%41", "\n", "Body", "zz", "<x>", "\u202e")
NAMES = ("From", "To", "Body", "body", "MediaUrl0", "MediaUrl10", "Größe", "漢", "A B", "a", "aa")
SETTINGS = "x-twilio-webhooks-signature-settings"


class Multi(dict[str, list[str]]):
    """Parameters as a web framework gives them to the library."""

    def getlist(self, name: str) -> list[str]:
        return self[name]


def collect(pairs: list[tuple[str, str]]) -> Multi:
    found = Multi()
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def sign(url: str, pairs: list[tuple[str, str]], token: str = TOKEN, algorithm: str | None = None) -> str:
    return str(RequestValidator(token).compute_signature(url, collect(pairs), algorithm))


def headers(signature: str, content_type: str = FORM, **others: str) -> dict[str, str]:
    return {"x-twilio-signature": signature, "content-type": content_type, **others}


def we_accept(url: str, body: bytes, sent: dict[str, str], *tokens: str) -> bool:
    try:
        verify(url, body, sent, tokens=tokens or (TOKEN,))
    except BadNotice:
        return False
    return True


def draw_url(random: Random) -> tuple[str, str]:
    """Draw an address, and the same one as Twilio may have signed it."""
    scheme = random.choice(("https", "http"))
    default = "443" if scheme == "https" else "80"
    port = random.choice(("", f":{default}", ":8443"))
    query = random.choice(("", "?a=1&b=", "?x=%20ä", "?bodySHA256=00"))
    rest = random.choice(("/", "/api/notices/twilio/1/messages", "/ü")) + query
    signed_port = random.choice((port, "", port or f":{default}", ":9999"))
    return f"{scheme}://openslot.example{port}{rest}", f"{scheme}://openslot.example{signed_port}{rest}"


def draw_pairs(random: Random) -> list[tuple[str, str]]:
    return [
        (random.choice(NAMES), "".join(random.choices(WORDS, k=random.randrange(3))))
        for _ in range(random.randrange(9))
    ]


@pytest.mark.rest("tries every character or thousands of inputs")
def test_the_library_agrees_on_ten_thousand_forms() -> None:
    random = Random(28)
    accepted = 0
    for _ in range(10_000):
        url, signed_url = draw_url(random)
        pairs = draw_pairs(random)
        signed = pairs if random.random() < 0.8 else draw_pairs(random)
        token = random.choice((TOKEN, TOKEN, TOKEN, FOREIGN))
        algorithm = random.choice((None, None, "HMAC_SHA1", "HMAC_SHA256"))
        signature = sign(signed_url, signed, token, algorithm)
        told = {SETTINGS: f"key=webhooks_sharedkey_1,algorithm={algorithm}"} if algorithm else {}
        theirs = RequestValidator(TOKEN).validate(url, collect(pairs), signature, algorithm)
        ours = we_accept(url, urlencode(pairs).encode(), headers(signature, **told))
        assert ours == theirs, (url, signed_url, pairs)
        accepted += ours
    assert 3_000 < accepted < 8_000


def test_the_library_agrees_on_json_bodies() -> None:
    random = Random(29)
    accepted = 0
    for _ in range(2_000):
        body = '{"text": "' + "".join(random.choices(("a", "ä", "漢", " "), k=5)) + '"}'
        digest = hashlib.sha256((body if random.random() < 0.7 else body + " ").encode()).hexdigest()
        url = f"https://openslot.example{random.choice(('', ':443', ':8443'))}/x?a=1&bodySHA256={digest}"
        signature = sign(url, [], random.choice((TOKEN, TOKEN, FOREIGN)))
        theirs = RequestValidator(TOKEN).validate(url, body, signature)
        ours = we_accept(url, body.encode(), headers(signature, "application/json"))
        assert ours == theirs
        accepted += ours
    assert 500 < accepted < 1_500


def test_a_get_is_signed_by_its_address_alone() -> None:
    url = f"{URL}?From=%2B49151&Body="
    signature = sign(url, [])
    assert we_accept(url, b"", {"x-twilio-signature": signature})
    assert not we_accept(f"{url}x", b"", {"x-twilio-signature": signature})


def test_both_tokens_are_valid_while_one_is_replaced() -> None:
    for token in (TOKEN, SECOND):
        assert we_accept(URL, BODY, headers(sign(URL, read_pairs(BODY), token)), TOKEN, SECOND)
    assert not we_accept(URL, BODY, headers(sign(URL, read_pairs(BODY), FOREIGN)), TOKEN, SECOND)
    assert not we_accept(URL, BODY, headers(sign(URL, read_pairs(BODY), "")), "", TOKEN)


@pytest.mark.parametrize(
    "settings",
    ["key=webhooks_sharedkey_1,algorithm=ED25519", "key=1", "x", "algorithm=HMAC_SHA1,algorithm=HMAC_SHA256"],
)
def test_settings_that_are_not_known_are_refused_and_said_so(settings: str) -> None:
    signature = sign(URL, read_pairs(BODY))
    with pytest.raises(BadNotice, match="settings that are not supported"):
        verify(URL, BODY, headers(signature, **{SETTINGS: settings}), tokens=(TOKEN,))


@pytest.mark.parametrize(
    ("url", "body"),
    [
        (URL.replace("messages", "status"), BODY),
        (URL.replace("https", "http"), BODY),
        (URL.replace("openslot.example", "other.example"), BODY),
        (URL, BODY + b"&More=1"),
        (URL, BODY.replace(b"Body=", b"body=")),
        (URL, b""),
    ],
    ids=["path", "scheme", "host", "more", "name", "nothing"],
)
def test_a_signature_is_good_for_what_it_was_made_for(url: str, body: bytes) -> None:
    signature = sign(URL, read_pairs(BODY))
    assert we_accept(URL, BODY, headers(signature))
    assert not we_accept(url, body, headers(signature))


@pytest.mark.parametrize("signature", ["", "x" * 200, "ä", " ", "AAAA"])
def test_what_is_no_signature_is_refused(signature: str) -> None:
    assert not we_accept(URL, BODY, headers(signature))


def test_a_body_that_is_too_long_is_refused_even_if_signed() -> None:
    large = urlencode({"Body": "a" * MAX_BYTES}).encode()
    with pytest.raises(BadNotice, match="too long"):
        verify(URL, large, headers(sign(URL, [("Body", "a" * MAX_BYTES)])), tokens=(TOKEN,))
    many = "&".join(f"a{number}=" for number in range(MAX_FIELDS + 1)).encode()
    with pytest.raises(BadNotice, match="not a form"):
        verify(URL, many, headers("AAAA"), tokens=(TOKEN,))


def test_a_json_body_without_its_hash_is_refused() -> None:
    with pytest.raises(BadNotice, match="not what was signed"):
        verify(URL, b"{}", headers(sign(URL, []), "application/json"), tokens=(TOKEN,))


def test_bytes_that_are_no_form_are_refused() -> None:
    with pytest.raises(BadNotice, match="not a form"):
        verify(URL, b"Body=\xff", headers("AAAA"), tokens=(TOKEN,))
