"""Who has sent a notice: Twilio signs the address that it calls, and what it posts there."""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import SplitResult, parse_qs, parse_qsl, urlsplit

from openslot.domains.messaging.ports import BadNotice

SIGNATURE = "x-twilio-signature"
SETTINGS = "x-twilio-webhooks-signature-settings"
FORM = "application/x-www-form-urlencoded"
ALGORITHMS = {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}
DEFAULT_PORTS = {"https": 443, "http": 80}
MAX_BYTES = 256 * 1024
MAX_FIELDS = 500
LONGEST_SIGNATURE = 128

Pairs = list[tuple[str, str]]


def verify(url: str, body: bytes, headers: Mapping[str, str], *, tokens: Sequence[str]) -> None:
    """Refuse a request that none of the tokens has signed.

    `url` is the public address with its query, as Twilio knows it; the names of `headers` are in lower case. There is
    no time in the signature: what is repeated has the same message, or the same call and sequence.
    """
    signature = headers.get(SIGNATURE, "")
    if not signature or len(signature) > LONGEST_SIGNATURE or not signature.isascii():
        raise BadNotice("the signature is missing or malformed")
    if len(body) > MAX_BYTES:
        raise BadNotice("the body is too long")
    algorithm = _read_algorithm(headers.get(SETTINGS, ""))
    texts = list_signed_texts(url, _find_pairs(url, body, headers))
    expected = [_sign(token, text, algorithm) for token in tokens if token for text in texts]
    # Every one is compared: how long it takes tells nothing.
    if not sum(hmac.compare_digest(each, signature) for each in expected):
        raise BadNotice("the signature is not valid")


def read_pairs(body: bytes) -> Pairs:
    """Read a form with its empty values, in the order that it has."""
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise BadNotice("the body is not a form") from None


def list_signed_texts(url: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Write what is signed, with the port and without: Twilio itself is not consistent."""
    # Each pair once, by name and then by value.
    rest = "".join(name + value for name, value in sorted(set(pairs)))
    parts = urlsplit(url)
    return [f"{_with_port(parts)}{rest}", f"{_without_port(parts)}{rest}"]


def _find_pairs(url: str, body: bytes, headers: Mapping[str, str]) -> Pairs:
    """Return what is signed beside the address: a form's pairs; another body is signed by its hash in the address."""
    if not body:
        return []
    if headers.get("content-type", "").partition(";")[0].strip().lower() == FORM:
        return read_pairs(body)
    told = parse_qs(urlsplit(url).query).get("bodySHA256", [""])[0]
    if not hmac.compare_digest(told.encode(), hashlib.sha256(body).hexdigest().encode()):
        raise BadNotice("the body is not what was signed")
    return []


def _read_algorithm(settings: str) -> str:
    """Read how a notice is signed that names its key and algorithm; others are signed with SHA-1."""
    if not settings.strip():
        return "sha1"
    named = [part.partition("=")[2].strip() for part in settings.split(",") if part.strip().startswith("algorithm=")]
    if len(named) != 1 or named[0].upper() not in ALGORITHMS:
        raise BadNotice("the signature has settings that are not supported")
    return ALGORITHMS[named[0].upper()]


def _sign(token: str, text: str, algorithm: str) -> str:
    return base64.b64encode(hmac.digest(token.encode(), text.encode(), algorithm)).decode()


def _with_port(parts: SplitResult) -> str:
    if parts.port:
        return parts.geturl()
    return parts._replace(netloc=f"{parts.netloc}:{DEFAULT_PORTS.get(parts.scheme, 80)}").geturl()


def _without_port(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.removesuffix(f":{parts.port}")).geturl() if parts.port else parts.geturl()
