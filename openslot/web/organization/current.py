"""Which organization a page is about: the one that its form names, the one that was chosen last, or the first."""

from datetime import timedelta
from typing import Any

from openslot.access.models import Entry
from openslot.accounts.models import OwnMembership, User
from openslot.accounts.roles import is_administrator
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.http.forms import is_form, parse_fields
from openslot.i18n import Text
from openslot.routing import Cookie, Request, Response
from openslot.web.pages import page

COOKIE = "openslot_organization"
FIELD = "organization"
LASTS = timedelta(days=365)


def get_own(request: Request) -> OwnMembership:
    """Return the user's place in the current organization; who has none finds nothing."""
    own = find_own(request)
    if own is None:
        raise NotFound
    return own


def get_administered(request: Request) -> OwnMembership:
    """Return the same for owners and administrators only."""
    own = get_own(request)
    if not is_administrator(own.role):
        raise NotFound
    return own


def find_own(request: Request) -> OwnMembership | None:
    """Return the user's place in the current organization, if there is one.

    A form says which organization it was shown for, so that a choice in another tab can't change what it does.
    """
    memberships = entry_of(request).memberships
    by_id = {str(own.organization_id): own for own in memberships}
    named = _named(request)
    if named is not None:
        return by_id.get(named)
    chosen = by_id.get(request.cookies.get(COOKIE, ""))
    return (
        chosen
        or next((own for own in memberships if is_administrator(own.role)), None)
        or next(iter(memberships), None)
    )


def entry_of(request: Request) -> Entry:
    """Return who has sent a request."""
    if not isinstance(request, Exchange):
        raise NotFound
    return request.entry


def choice_cookie(work: Work, own: OwnMembership) -> Cookie:
    """Return the cookie that remembers the chosen organization."""
    is_secure = work.runtime.settings.public_url.startswith("https://")
    seconds = int(LASTS.total_seconds())
    return Cookie(name=COOKIE, value=str(own.organization_id), max_age=seconds, secure=is_secure)


def organization_page(
    template: str,
    request: Request,
    user: User,
    own: OwnMembership,
    *,
    here: str,
    notice: Text | None = None,
    **values: Any,
) -> Response:
    """Respond with a page about an organization."""
    return page(
        f"organization/{template}",
        user,
        here=here,
        own=own,
        others=[each for each in entry_of(request).memberships if each != own],
        notice=notice,
        **values,
    )


def _named(request: Request) -> str | None:
    if not isinstance(request, Exchange) or request.method != "POST" or not is_form(request):
        return None
    sent = parse_fields(request).get(FIELD, [None])[0]
    return sent if isinstance(sent, str) else None
