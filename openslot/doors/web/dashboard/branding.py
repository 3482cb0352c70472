"""Pages: how a host's pages and emails look: logo, cover, color, own text and footer, with a form for each part."""

from typing import Any, Literal

from msgspec import Struct

from openslot.domains.accounts.models import ChosenBrand, ImageKind, User
from openslot.domains.accounts.pictures.operations import EMPTY, prepare_brand_image
from openslot.domains.accounts.profiles.operations import (
    BRAND_COLOR,
    LONGEST_WELCOME,
    choose_brand,
    get_brand,
    get_page_look,
    remove_page_image,
    set_page_image,
    set_page_look,
)
from openslot.domains.mail.rendering import DARK_PAPER, PAPER
from openslot.doors.web.dashboard.profile import ACCEPTED, UPLOADS
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.static_files import shade
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import File, Form, Response, get, post

# What a browser's color field begins with.
FIRST_COLOR = "#3155d9"
HERE = "/settings/branding"
NOTICES = {
    "look": Text("The appearance of your pages and emails was saved."),
    "page": Text("Your page was saved."),
    "logo": Text("Your logo was saved."),
    "cover": Text("Your cover image was saved."),
    "no-logo": Text("Your logo was removed."),
    "no-cover": Text("Your cover image was removed."),
}


class LogoForm(Struct, frozen=True, kw_only=True):
    logo: File | None = None


class CoverForm(Struct, frozen=True, kw_only=True):
    cover: File | None = None


class LookForm(Struct, frozen=True, kw_only=True, rename={"brand_name": "brand-name", "logo_url": "logo-url"}):
    which: Literal["event_types", "own"] = "event_types"
    color: str = ""
    picker: str = ""
    brand_name: str = ""
    logo_url: str = ""


class PageForm(Struct, frozen=True, kw_only=True):
    welcome: str = ""
    footer: bool = False


def shown_color(text: str) -> str:
    """Return a color that can be shown: what was typed, or the first one."""
    return text.lower() if BRAND_COLOR.fullmatch(text.lower()) else FIRST_COLOR


def list_swatches(color: str) -> list[dict[str, str]]:
    """Show a color on light and on dark paper; if text would not be readable, it is changed as far as needed."""
    papers = {"light": PAPER, "dark": DARK_PAPER}
    return [{"name": name, "paper": paper, **shade(color, paper)} for name, paper in papers.items()]


@get(HERE)
async def show_branding(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    """Show logo, cover, color and text, with the faults of one of the forms."""
    chosen, (text, brand) = await get_brand(work, user), await get_page_look(work, user)
    look = form.of(LookForm).begin(
        {
            "which": "own" if chosen.color else "event_types",
            "color": chosen.color or FIRST_COLOR,
            "brand-name": chosen.name or "",
            "logo-url": chosen.logo_url or "",
        }
    )
    return page(
        "dashboard/branding/branding.html",
        user,
        here=HERE,
        notices=NOTICES,
        brand=brand,
        longest=LONGEST_WELCOME,
        logo=form.of(LogoForm),
        cover=form.of(CoverForm),
        about=form.of(PageForm).begin({"welcome": text, "footer": "on" if brand.shows_footer else ""}),
        look=look,
        color=shown_color(look["color"]),
        swatches=list_swatches(shown_color(look["color"])),
    )


@post(f"{HERE}/look", shows=show_branding, names={"name": "brand-name", "logo": "logo-url"})
async def change_look(work: Work, user: User, form: Form[LookForm]) -> Response:
    """Choose the color of pages and mail, and the name and logo of mail."""
    sent, before = form.get(), await get_brand(work, user)
    # Without scripts the two fields of the color don't follow each other: the one that was changed counts.
    is_typed = sent.color.lower() != (before.color or FIRST_COLOR) or not sent.picker
    color = sent.color if is_typed else sent.picker
    wanted = ChosenBrand(name=sent.brand_name, color=color if sent.which == "own" else None, logo_url=sent.logo_url)
    await choose_brand(work, user, wanted)
    return redirect(f"{HERE}?done=look")


@post(f"{HERE}/page", shows=show_branding)
async def change_page(work: Work, user: User, form: Form[PageForm]) -> Response:
    """Change the text on the host's page, and whether pages have a footer."""
    sent = form.get()
    await set_page_look(work, user, sent.welcome, shows_footer=sent.footer)
    return redirect(f"{HERE}?done=page")


@post(
    f"{HERE}/logo",
    transaction="none",
    max_bytes=ACCEPTED,
    limit=UPLOADS,
    shows=show_branding,
    names={"photo": "logo"},
)
async def upload_logo(work: Work, user: User, form: Form[LogoForm]) -> Response:
    return await _upload(work, user, ImageKind.LOGO, form.get().logo)


@post(
    f"{HERE}/cover",
    transaction="none",
    max_bytes=ACCEPTED,
    limit=UPLOADS,
    shows=show_branding,
    names={"photo": "cover"},
)
async def upload_cover(work: Work, user: User, form: Form[CoverForm]) -> Response:
    return await _upload(work, user, ImageKind.COVER, form.get().cover)


async def _upload(work: Work, user: User, kind: ImageKind, sent: File | None) -> Response:
    """Prepare a picture while no connection is held, then keep it."""
    if sent is None:
        raise Invalid(details={"photo": EMPTY})
    picture = await prepare_brand_image(sent.body, kind)
    async with work.transaction():
        await set_page_image(work, user, kind, picture)
    return redirect(f"{HERE}?done={kind}")


@get(f"{HERE}/logo/remove")
async def ask_to_remove_logo(work: Work, user: User) -> Response:
    return await _ask_to_remove(work, user, ImageKind.LOGO)


@get(f"{HERE}/cover/remove")
async def ask_to_remove_cover(work: Work, user: User) -> Response:
    return await _ask_to_remove(work, user, ImageKind.COVER)


async def _ask_to_remove(work: Work, user: User, kind: ImageKind) -> Response:
    _, brand = await get_page_look(work, user)
    if (brand.logo if kind is ImageKind.LOGO else brand.cover) is None:
        return redirect(HERE)
    return page("dashboard/branding/remove.html", user, here=HERE, kind=kind, brand=brand)


@post(f"{HERE}/logo/remove")
async def remove_logo(work: Work, user: User) -> Response:
    await remove_page_image(work, user, ImageKind.LOGO)
    return redirect(f"{HERE}?done=no-logo")


@post(f"{HERE}/cover/remove")
async def remove_cover(work: Work, user: User) -> Response:
    await remove_page_image(work, user, ImageKind.COVER)
    return redirect(f"{HERE}?done=no-cover")
