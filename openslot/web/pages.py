"""Pages: templates rendered in the reader's language, and the responses that carry them."""

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from msgspec import Struct

from openslot.accounts.models import User
from openslot.http.doors import Exchange
from openslot.i18n.catalogs import get_catalog
from openslot.i18n.languages import Locale
from openslot.i18n.localization import localize
from openslot.i18n.negotiation import negotiate
from openslot.routing import Cookie, Request, Response
from openslot.web.assets import static_url
from openslot.web.csrf import FIELD, csrf_token
from openslot.web.navigation import SHORTCUTS, list_places
from openslot.web.zone_names import former_names, zone_name, zones_by_region

HTML = "text/html; charset=utf-8"
# Personal pages must not be cached, not even by the browser.
NOT_KEPT = {"cache-control": "no-store"}


class Page(Struct, frozen=True, kw_only=True):
    """What a handler shows; the door renders it in the reader's language."""

    template: str
    user: User | None
    values: dict[str, object]
    locale: Locale | None = None
    """The language in which to show it; None: the reader's."""


@pass_context
def _gettext(context: Context, text: str) -> str:
    return get_catalog(context["locale"].language).gettext(text)


@pass_context
def _ngettext(context: Context, singular: str, plural: str, count: int) -> str:
    return get_catalog(context["locale"].language).ngettext(singular, plural, count)


@pass_context
def _localize(context: Context, value: object) -> object:
    return localize(value, context["locale"])


@pass_context
def _sentence(context: Context, fault: str) -> str:
    """Capitalize a field's fault, as it is shown below the field."""
    shown = str(localize(fault, context["locale"]))
    return shown[:1].upper() + shown[1:]


@pass_context
def _csrf_field(context: Context) -> Markup:
    """Write the hidden field with which a form of a signed-in user begins."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, context["csrf"])


templates = Environment(
    loader=PackageLoader("openslot.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_localize,
    extensions=["jinja2.ext.i18n"],
)
templates.policies["ext.i18n.trimmed"] = True
templates.install_gettext_callables(_gettext, _ngettext, newstyle=True)  # type: ignore[attr-defined]
templates.globals |= {
    "static": static_url,
    "former_names": former_names,
    "zone_name": zone_name,
    "zones_by_region": zones_by_region,
}
templates.globals |= {"shortcuts": SHORTCUTS}
templates.globals["csrf_field"] = _csrf_field
templates.filters |= {"localized": _localize, "sentence": _sentence}


def page(
    template: str, user: User | None, *, status: int = 200, locale: Locale | None = None, **values: object
) -> Response:
    """Respond with a page; every template gets `user`."""
    shown = Page(template=template, user=user, values={"status": status, **values}, locale=locale)
    return Response(status=status, headers={**NOT_KEPT, "content-type": HTML}, body=shown)


def write_page(shown: object, exchange: Exchange) -> bytes:
    """Render a page in the reader's language."""
    if not isinstance(shown, Page):
        raise TypeError(f"{exchange.path} must return a page")
    template = templates.get_template(shown.template)
    token = csrf_token(exchange.runtime, exchange.entry.actor.credential_id)
    locale = shown.locale or locale_of(exchange)
    places = list_places(exchange.entry)
    return template.render(user=shown.user, locale=locale, csrf=token, places=places, **shown.values).encode()


def locale_of(request: Request) -> Locale:
    """Choose the language of a page: the user's own, or else the one that the browser asks for."""
    user = request.user if isinstance(request, Exchange) else None
    return negotiate(user.locale if user else None, request.headers.get("accept-language", ""))


def redirect(path: str, *cookies: Cookie) -> Response:
    """Redirect the browser to one of our pages, by GET."""
    return Response(status=303, headers={"location": path, **NOT_KEPT}, cookies=cookies)
