"""What protects forms that anyone may send: a trap for programs, a limit by address, and links that do not leak."""

from collections.abc import Mapping

from msgspec.structs import replace

from openslot.core.config import Settings
from openslot.core.work import Work
from openslot.http.limits import take
from openslot.i18n import Text
from openslot.routing import RateLimit, Request, Response

# A field that people do not see; whatever fills in every field fills in this one too.
TRAP = "website"
TRAPPED: Mapping[str, str] = {TRAP: Text("must be empty")}


def account_limit(settings: Settings) -> RateLimit:
    """Limit the mails about accounts that one address causes, and its uses of their links."""
    return RateLimit("account", settings.limit_failed_auth)


async def count_form(work: Work, request: Request) -> None:
    """Count a form of an address, or refuse it."""
    await take(work.runtime, account_limit(work.runtime.settings), request.address)


def keep_address_private(shown: Response) -> Response:
    """Keep the address of a page, which contains a link's token, from other sites."""
    return replace(shown, headers={**shown.headers, "referrer-policy": "same-origin"})
