"""The end of every way in: a session, or the page that asks for the second factor."""

from urllib.parse import quote

from openslot.access.models import SecondFactorNeeded, SignedIn
from openslot.core.work import Work
from openslot.routing import Cookie, Response
from openslot.web.cookies import cookies_for
from openslot.web.pages import redirect
from openslot.web.short_cookies import pending_cookie


def respond_signed_in(work: Work, result: SignedIn | SecondFactorNeeded, path: str, *cookies: Cookie) -> Response:
    """Redirect to one of our pages with the session's cookies, or first to the page that asks for a code."""
    if isinstance(result, SecondFactorNeeded):
        return redirect(f"/login/two-factor?next={quote(path)}", pending_cookie(work, result.token), *cookies)
    return redirect(path, *cookies_for(work, result), *cookies)
