"""Steps of signing in that other pages take too."""

import re
from typing import Annotated

from msgspec import Meta

from openslot.domains.access.limits.operations import take_from_bucket
from openslot.domains.oidc.operations import ATTEMPT_LASTS
from openslot.doors.web.shared import cookies
from openslot.doors.web.shared.pages import page
from openslot.platform.core.errors import RateLimited
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Cookie, Request, Response, WhenEmpty

HOME = "/"
# A path of ours in visible ASCII: `//` and `/\` would lead a browser to another host.
LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,1000}")
TypedCode = Annotated[str, Meta(pattern=LINE, max_length=100), WhenEmpty(Text("Enter a code"))]
ATTEMPT_COOKIE = "openslot_oidc"
# Each begun or finished sign-in may cause requests to the provider.
MAX_A_MINUTE = 30
TOO_MANY = Text("Too many sign-ins from your network")


def show_no_account(work: Work) -> Response:
    """Say where the link to the first account is."""
    return page("no_account.html", None, may_sign_in=work.runtime.settings.oidc_issuer is not None)


def local_path(wanted: str) -> str:
    """Return the path if it is one of ours, and the home page otherwise."""
    return wanted if LOCAL_PATH.fullmatch(wanted) else HOME


def attempt_cookie(work: Work, kept: str) -> Cookie:
    """Return the cookie by which this browser, and no other, can finish a sign-in."""
    return cookies.write_cookie(work, ATTEMPT_COOKIE, kept, lasts=ATTEMPT_LASTS)


async def check_rate(work: Work, request: Request) -> None:
    """Refuse an address that begins or finishes more sign-ins than people do."""
    verdict = await take_from_bucket(work.db, f"oidc:{request.address}", MAX_A_MINUTE)
    if not verdict.taken:
        raise RateLimited(TOO_MANY, retry_after=verdict.retry_after)
