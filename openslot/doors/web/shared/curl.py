"""The same by the API: commands to copy, with the key left out."""

import json
import shlex
from collections.abc import Mapping
from urllib.parse import urlencode

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.accounts.plans import PLANS_WITH_API
from openslot.platform.core.work import Work

KEY = "Authorization: Bearer $OPENSLOT_KEY"


class Curl(Struct, frozen=True, kw_only=True):
    id: str
    command: str


def curl(
    work: Work,
    user: User,
    path: str,
    *,
    method: str = "GET",
    query: dict[str, str] | None = None,
    body: Mapping[str, object] | None = None,
    key: str | None = None,
) -> Curl | None:
    """Write the command that does the same by the API, with this key or a place for one; None without an API."""
    if user.effective_plan not in PLANS_WITH_API:
        return None
    url = f"{work.runtime.settings.public_url}/api/v1{path}" + (f"?{urlencode(query)}" if query else "")
    header = KEY if key is None else KEY.replace("$OPENSLOT_KEY", key)
    lines = [
        f"curl {shlex.quote(url)}" if method == "GET" else f"curl -X {method} {shlex.quote(url)}",
        f'-H "{header}"',
    ]
    if body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}"]
    return Curl(id=f"curl-{method.lower()}", command=" \\\n  ".join(lines))
