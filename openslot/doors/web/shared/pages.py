"""Pages: templates rendered in the reader's language, and the responses that carry them."""

from collections.abc import Mapping
from functools import cache

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.mail.operations import sends_mail
from openslot.doors.http.assets import Asset, make_asset
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared import marks
from openslot.doors.web.shared.cookies import FIELD, csrf_token
from openslot.doors.web.shared.frame import show_frame
from openslot.doors.web.shared.navigation import SHORTCUTS, NavigationAudience, audiences_of, group_items, list_items
from openslot.doors.web.shared.templating import get_template, templates
from openslot.doors.web.shared.words import FILTERS
from openslot.doors.web.shared.zones import zone_name
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import LANGUAGES, Language, Locale, negotiate
from openslot.platform.routing import READS, Cookie, Form, Request, Response

HTML = "text/html; charset=utf-8"
# Personal pages must not be cached, not even by the browser.
NOT_KEPT = {"cache-control": "no-store"}
NO_NOTICES: Mapping[str, Text] = {}


class MailNotice(Struct, frozen=True):
    """What a page says first after something that people are told by mail."""

    sent: Text
    kept: Text
    """The notice if mail stays in the embedded mailbox."""


Notices = Mapping[str, Text | MailNotice]


class Page(Struct, frozen=True, kw_only=True):
    """What a handler shows; the door renders it in the reader's language."""

    template: str
    user: User | None
    values: dict[str, object]
    notices: Notices
    """The notices that the page begins with after a redirect, by the `done` of its address."""
    locale: Locale | None = None
    """The language in which to show it; None if it is the reader's."""


@pass_context
def _csrf_field(context: Context) -> Markup:
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, context["csrf"])


templates.globals |= {
    "languages": LANGUAGES,
    "write_icon": marks.write_icon,
    "STATE_ICONS": marks.STATE_ICONS,
    "zone_name": zone_name,
    "shortcuts": SHORTCUTS,
    "csrf_field": _csrf_field,
}
templates.filters |= {**FILTERS, **marks.FILTERS}


def page(
    template: str,
    user: User | None,
    *,
    status: int | None = None,
    locale: Locale | None = None,
    notices: Notices = NO_NOTICES,
    **values: object,
) -> Response:
    """Respond with a page; every template gets `user`, `notice`, `keeps_mail` and `now`.

    The status of a form with faults is 400.
    """
    if status is None:
        form = values.get("form")
        status = 400 if isinstance(form, Form) and form.faults else 200
    shown = Page(template=template, user=user, values=values | {"status": status}, notices=notices, locale=locale)
    return Response(status=status, headers={**NOT_KEPT, "content-type": HTML}, body=shown)


def write_page(shown: object, exchange: Exchange) -> bytes:
    if not isinstance(shown, Page):
        raise TypeError(f"{exchange.path} must return a page")
    token = csrf_token(exchange.runtime, exchange.entry.actor.credential_id)
    locale = shown.locale or locale_of(exchange, shown.user)
    audiences = audiences_of(exchange.entry)
    keeps_mail = not sends_mail(exchange.runtime)
    notice = shown.notices.get(exchange.query.get("done", "")) if exchange.method in READS else None
    if isinstance(notice, MailNotice):
        notice = notice.kept if keeps_mail else notice.sent
    values = {
        "user": shown.user,
        "this_path": exchange.path,
        "csrf": token,
        "places": list_items(audiences),
        "grouped": group_items(audiences),
        "palette": f"/help/palette?v={find_palette(audiences, locale.language).version}",
        "now": exchange.work.now if hasattr(exchange, "work") else exchange.runtime.clock(),
        **(show_frame(exchange, shown.user, locale) if shown.user else {}),
        "notice": notice,
        "keeps_mail": keeps_mail,
    }
    return render(shown.template, locale, **(values | shown.values))


# benchmarks/caches.py: /help/palette, 4.1 times
@cache
def find_palette(audiences: frozenset[NavigationAudience], language: Language) -> Asset:
    """Write the list of pages and actions, once."""
    locale = Locale(language=language, formats=language.formats)
    return make_asset(render("layout/palette.html", locale, places=list_items(audiences)), HTML)


def render(template: str, locale: Locale, **values: object) -> bytes:
    return get_template(template, locale.language).render(locale=locale, **values).encode()


def locale_of(request: Request, user: User | None = None) -> Locale:
    """Choose the language of a page: the user's own, or else the one that the browser asks for.

    The page of a user also has the hours and the first weekday that they prefer; pages for invitees have not.
    """
    locale = negotiate(request.chosen_locale, request.headers.get("accept-language", ""))
    return replace(locale, hours=user.hour_format, first_weekday=user.first_weekday) if user else locale


def redirect(path: str, *cookies: Cookie) -> Response:
    """Redirect the browser to another page, by GET."""
    return Response(status=303, headers={"location": path, **NOT_KEPT}, cookies=cookies)
