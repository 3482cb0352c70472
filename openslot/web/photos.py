"""Photos over HTTP: each at an address that contains its hash, so that it never changes."""

import re

from openslot.accounts.profiles import find_photo
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.routing import Request, Response, get
from openslot.web.static_files import FOR_GOOD, is_current

NAME = re.compile(r"([0-9a-f]{32})\.jpg")


@get("/photos/{name}")
async def send_photo(request: Request, work: Work, name: str) -> Response:
    """Send a host's photo."""
    match = NAME.fullmatch(name)
    photo = await find_photo(work, match[1]) if match else None
    if match is None or photo is None:
        raise NotFound
    headers = {"etag": f'"{match[1]}"', "cache-control": FOR_GOOD, "cross-origin-resource-policy": "cross-origin"}
    if is_current(request, headers["etag"]):
        return Response(status=304, headers=headers)
    return Response(headers={**headers, "content-type": "image/jpeg"}, body=photo)
