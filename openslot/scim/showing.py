"""Users as SCIM shows them: assembled from the stored text, which is parsed only if a part of a user is wanted."""

from collections.abc import Sequence

import msgspec

from openslot.accounts.models import InvitationLimit
from openslot.core.db import Row
from openslot.scim.attributes import CORE, ENTERPRISE
from openslot.scim.discovery import LIST
from openslot.scim.projection import Projection
from openslot.scim.resources import derive_user
from openslot.scim.versions import etag

NOTICE = "x-notice"
UNINVITED = {
    InvitationLimit.ORGANIZATION: "The invitation was not sent: the organization has sent too many within a day",
    InvitationLimit.RECIPIENT: "The invitation was not sent: this address was sent as many as allowed",
}

_SCHEMAS = {
    False: msgspec.json.encode([CORE]).decode(),
    True: msgspec.json.encode([CORE, ENTERPRISE]).decode(),
}
# Only a key is followed by a bare quote and a colon: in a value, both quotes are escaped.
_HAS_EXTENSION = f'"{ENTERPRISE}":'
_ACTIVE = {True: ',"active":true', False: ',"active":false', None: ""}


def show_user(row: Row, base: str, projection: Projection) -> str:
    """Write one user as JSON."""
    profile = row["profile"] or msgspec.json.encode(derive_user(email=row["email"], name=row["name"])).decode()
    user_id = str(row["id"])
    text = (
        f'{{"schemas":{_SCHEMAS[_HAS_EXTENSION in profile]},"id":"{user_id}",{profile[1:-1]}{_ACTIVE[row["active"]]},'
        f'"meta":{{"resourceType":"User","created":"{row["created_at"]}","lastModified":"{row["changed_at"]}",'
        f'"location":"{base}/Users/{user_id}","version":"W/\\"{row["version"]}\\""}}}}'
    )
    if projection.shows_all:
        return text
    return msgspec.json.encode(projection.apply(msgspec.json.decode(text))).decode()


def show_list(users: Sequence[str], *, total: int, start: int) -> bytes:
    """Write one page of a list as JSON."""
    head = f'{{"schemas":["{LIST}"],"totalResults":{total},"startIndex":{start},"itemsPerPage":{len(users)}'
    return f'{head},"Resources":[{",".join(users)}]}}'.encode()


def headers_of(row: Row, base: str) -> dict[str, str]:
    """Write where a user is, its version, and whether the invitation was not sent."""
    headers = {"location": f"{base}/Users/{row['id']}", "etag": etag(row["version"])}
    refused = row["invitation_refused"]
    return headers | ({NOTICE: UNINVITED[InvitationLimit(refused)]} if refused else {})
