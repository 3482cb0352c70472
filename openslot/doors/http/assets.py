"""Answers that are made once and kept, with the hash of their content and compressed: files, documents, scripts."""

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from openslot.doors.http.compression import SMALLEST, accepts_gzip, pack, with_vary
from openslot.platform.routing import Request, Response

# Images and the like are compressed already.
TEXT = ("text/", "application/json", "image/svg+xml")


class Asset(Struct, frozen=True, kw_only=True):
    body: bytes
    media_type: str
    version: str
    packed: bytes | None = None
    """The body as gzip, if that is shorter."""


def make_asset(body: bytes, media_type: str) -> Asset:
    """Return a file whose version is the hash of its content."""
    packed = pack(body) if media_type.startswith(TEXT) and len(body) >= SMALLEST else None
    return Asset(body=body, media_type=media_type, version=hashlib.sha256(body).hexdigest()[:8], packed=packed)


def send_asset(request: Request, asset: Asset, headers: Mapping[str, str]) -> Response:
    """Send a file as the client takes it, or respond that the client's copy is still valid."""
    body, etag = asset.body, f'"{asset.version}"'
    if asset.packed is not None:
        headers = with_vary(headers)
        if accepts_gzip(request.headers):
            # Two forms of a file are two answers, each with a tag of its own.
            body, etag = asset.packed, f'"{asset.version}-gzip"'
            headers["content-encoding"] = "gzip"
    headers = {**headers, "etag": etag}
    known = request.headers.get("if-none-match", "")
    if any(one.strip().removeprefix("W/") in {etag, "*"} for one in known.split(",")):
        return Response(status=304, headers=headers)
    return Response(headers={**headers, "content-type": asset.media_type}, body=body)
