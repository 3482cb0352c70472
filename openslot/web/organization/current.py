"""Which organization a page is about: the one that its form names, the one that was chosen last, or the first."""

from datetime import timedelta
from typing import Any

from openslot.accounts.models import OwnMembership, User
from openslot.accounts.roles import is_administrator
from openslot.core.errors import NotFound
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.http.forms import is_form, parse_fields
from openslot.i18n import Text
from openslot.routing import Cookie, Response
from openslot.web.cookies import cookie_name, write_cookie
from openslot.web.pages import page

COOKIE = "openslot_organization"
FIELD = "organization"
LASTS = timedelta(days=365)


def get_own(request: Exchange) -> OwnMembership:
    """Return the user's place in the current organization; who has none finds nothing."""
    own = find_own(request)
    if own is None:
        raise NotFound
    return own


def get_administered(request: Exchange) -> OwnMembership:
    """Return the same for owners and administrators only."""
    own = get_own(request)
    if not is_administrator(own.role):
        raise NotFound
    return own


def find_own(request: Exchange) -> OwnMembership | None:
    """Return the user's place in the current organization, if there is one.

    A form says which organization it was shown for, so that a choice in another tab can't change what it does.
    """
    memberships = request.entry.memberships
    by_id = {str(own.organization_id): own for own in memberships}
    named = _named(request)
    if named is not None:
        return by_id.get(named)
    chosen = by_id.get(_chosen(request))
    return (
        chosen
        or next((own for own in memberships if is_administrator(own.role)), None)
        or next(iter(memberships), None)
    )


def choice_cookie(work: Work, own: OwnMembership) -> Cookie:
    """Return the cookie that remembers the chosen organization."""
    return write_cookie(work, COOKIE, str(own.organization_id), lasts=LASTS)


def organization_page(
    template: str,
    request: Exchange,
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
        others=[each for each in request.entry.memberships if each != own],
        notice=notice,
        **values,
    )


def _chosen(request: Exchange) -> str:
    return request.cookies.get(cookie_name(request.runtime.settings, COOKIE), "")


def _named(request: Exchange) -> str | None:
    if request.method != "POST" or not is_form(request):
        return None
    sent = parse_fields(request).get(FIELD, [None])[0]
    return sent if isinstance(sent, str) else None
