"""Images by a model: one request to any endpoint that is compatible with OpenAI's, over the guarded client."""

from base64 import b64decode
from datetime import timedelta
from http import HTTPStatus

import msgspec
from msgspec import Struct

from openslot.platform.core.outbound import Outbound, OutboundFailed, OutboundRefused, OutboundResponse
from openslot.platform.core.text import one_line

WITHIN = timedelta(seconds=180)
FETCHED_WITHIN = timedelta(seconds=60)
MAX_IMAGE = 15 * 1024 * 1024
# Base64 takes a third more; the rest is for the other fields.
MAX_ANSWER = 20 * 1024 * 1024 + 64 * 1024
LONGEST_REASON = 300
# A proxy has lost the answer of the endpoint: it may have made the image.
LOST = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT})


class ImagesEndpoint(Struct, frozen=True):
    """Where images are made, and by which model."""

    url: str
    key: str
    model: str


class ImageFailed(Exception):
    """No image came; `may_be_charged` says that the endpoint may have made one nevertheless."""

    def __init__(self, message: str, *, may_be_charged: bool) -> None:
        super().__init__(message)
        self.message = message
        self.may_be_charged = may_be_charged


class _Wanted(Struct, frozen=True, kw_only=True):
    """What every compatible endpoint knows; some refuse anything more."""

    model: str
    prompt: str
    size: str
    n: int = 1


class _Image(Struct, frozen=True):
    b64_json: str | None = None
    url: str | None = None


class _Answer(Struct, frozen=True):
    data: list[_Image]


class _Fault(Struct, frozen=True):
    message: str | None = None
    code: str | int | None = None


class _FaultAnswer(Struct, frozen=True):
    error: _Fault


async def request_image(outbound: Outbound, endpoint: ImagesEndpoint, *, prompt: str, size: str) -> bytes:
    """Have an image made, and return the bytes that came; nobody has looked at them yet."""
    wanted = _Wanted(model=endpoint.model, prompt=prompt, size=size)
    headers = {"Authorization": f"Bearer {endpoint.key}", "Content-Type": "application/json"}
    try:
        response = await outbound.send(
            "POST",
            f"{endpoint.url.rstrip('/')}/images/generations",
            headers=headers,
            body=msgspec.json.encode(wanted),
            within=WITHIN,
            at_most=MAX_ANSWER,
        )
    except OutboundRefused as fault:
        raise ImageFailed(f"OPENSLOT_IMAGES_URL can't be used: {fault.message}", may_be_charged=False) from None
    except OutboundFailed as fault:
        raise ImageFailed(fault.message, may_be_charged=fault.may_have_arrived) from None
    if response.status != HTTPStatus.OK:
        raise _describe(response)
    return await _read_image(outbound, response)


async def _read_image(outbound: Outbound, response: OutboundResponse) -> bytes:
    if response.truncated:
        raise ImageFailed("The answer of the images endpoint is too large", may_be_charged=True)
    try:
        [image, *_] = msgspec.json.decode(response.body, type=_Answer).data
        if image.b64_json is not None:
            return b64decode(image.b64_json, validate=True)
    except (msgspec.DecodeError, ValueError):
        # The JSON, its fields, an empty list, or base64.
        raise ImageFailed("The answer of the images endpoint can't be read", may_be_charged=True) from None
    if image.url is None:
        raise ImageFailed("The answer of the images endpoint has no image", may_be_charged=True)
    return await _fetch(outbound, image.url)


async def _fetch(outbound: Outbound, url: str) -> bytes:
    """Fetch an image from where the endpoint has put it; the address may be anything, and the key is not sent there."""
    try:
        response = await outbound.send("GET", url, within=FETCHED_WITHIN, at_most=MAX_IMAGE)
    except (OutboundRefused, OutboundFailed) as fault:
        raise ImageFailed(f"The image can't be fetched: {fault.message}", may_be_charged=True) from None
    if response.status != HTTPStatus.OK or response.truncated:
        why = "it is too large" if response.truncated else f"status {response.status}"
        raise ImageFailed(f"The image can't be fetched: {why}", may_be_charged=True)
    return response.body


def _describe(response: OutboundResponse) -> ImageFailed:
    """Say why the endpoint has refused, in its own words if it has any."""
    if response.status in LOST:
        return ImageFailed(
            f"The answer of the images endpoint was lost (status {response.status})", may_be_charged=True
        )
    if response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return ImageFailed("The images endpoint refuses the key in OPENSLOT_IMAGES_KEY", may_be_charged=False)
    try:
        fault = msgspec.json.decode(response.body, type=_FaultAnswer).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        fault = _Fault()
    said = one_line(fault.message or str(fault.code or ""), max_=LONGEST_REASON)
    wait = response.headers.get("retry-after", "")
    words = f"The images endpoint answered {response.status}{f': {said}' if said else ''}".rstrip(".")
    if response.status == HTTPStatus.TOO_MANY_REQUESTS and wait.isdecimal():
        words += f". Try again in {wait} seconds"
    return ImageFailed(words, may_be_charged=False)
