"""What pages show beside a name: a host's text and pictures, an organization's brand; and names from before."""

import re
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.errors import ReservedUsernameNotFound, UsernameLimitExceeded, UserNotFound
from openslot.domains.accounts.models import (
    DEFAULT_COLOR,
    Brand,
    BrandedHost,
    ChosenBrand,
    FormerUsername,
    ImageKind,
    Organization,
    PageBrand,
    User,
)
from openslot.domains.accounts.pictures.operations import Picture, RewrittenPicture, name_picture
from openslot.domains.accounts.profiles import store
from openslot.domains.accounts.rules import SHAPE
from openslot.platform.core import markdown
from openslot.platform.core.db import Row
from openslot.platform.core.errors import Invalid, NotFound, require
from openslot.platform.core.text import NOT_ALLOWED, at_most_characters, fold_ascii, is_line, is_prose, is_web_url
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.i18n import Text
from openslot.platform.jobs.batches import delete_old

LONGEST_WELCOME = 2000
LONGEST_NAME = 100
BRAND_COLOR = re.compile(r"#[0-9a-f]{6}")
MAX_RESERVED = 10
MAIL_LOGO = (240, 32)
"""How wide and high a logo is in mail at most."""
Found = TypeVar("Found")


def check_welcome(text: str) -> str | None:
    """Return a welcome text without the space around it, None if it is blank, or refuse it; it is Markdown."""
    # Browsers send a line break as two characters, and count it as one.
    kept = text.replace("\r\n", "\n").strip()
    if not is_prose(kept):
        raise Invalid(details={"welcome": NOT_ALLOWED})
    if len(kept) > LONGEST_WELCOME:
        raise Invalid(details={"welcome": at_most_characters(LONGEST_WELCOME)})
    if (fault := markdown.find_fault(kept)) is not None:
        raise Invalid(details={"welcome": fault})
    return kept or None


async def get_page_look(work: Work, user: User) -> tuple[str, PageBrand]:
    """Read the text on a host's page, and what else their pages show."""
    row = require(await store.find_page(work.db, user.id), UserNotFound)
    return row["welcome"] or "", store.to_page_brand(row)


async def set_page_look(work: Work, user: User, text: str, *, shows_footer: bool) -> None:
    """Change the text on a host's page, where a blank one removes it, and whether pages have a footer."""
    await store.update_page(work.db, user.id, check_welcome(text), shows_footer=shows_footer, now=work.now)


async def set_page_image(work: Work, user: User, kind: ImageKind, picture: RewrittenPicture) -> None:
    await store.save_image(work.db, user.id, kind, picture, name=name_picture(picture.body), now=work.now)


async def remove_page_image(work: Work, user: User, kind: ImageKind) -> None:
    """Remove a logo or a cover; its address no longer exists from then on."""
    await store.delete_image(work.db, user.id, kind)


async def set_user_photo(work: Work, user: User, picture: Picture) -> str:
    await store.save_photo(work.db, user.id, picture.hash, picture, now=work.now)
    return picture.hash


async def remove_user_photo(work: Work, user: User) -> None:
    """Remove a user's photo; its address no longer exists from then on."""
    await store.delete_photo(work.db, user.id, now=work.now)


async def find_picture(work: Work, name: str, *, kind: str) -> bytes | None:
    """Find a photo, a cover or a logo that is served as a file of this kind."""
    return await store.find_picture(work.db, name, kind)


def photo_path(photo_hash: str | None) -> str | None:
    return f"/photos/{photo_hash}.jpg" if photo_hash else None


async def get_brand(work: Work, owner: User | Organization) -> ChosenBrand:
    return await store.find_brand(work.db, owner=_column(owner), owner_id=owner.id) or ChosenBrand()


async def choose_brand(work: Work, owner: User | Organization, brand: ChosenBrand) -> ChosenBrand:
    """Choose name, color and logo; a user's brand without any of them gives way to the organization's."""
    checked = check_brand(brand)
    if checked == ChosenBrand():
        await store.delete_brand(work.db, owner=_column(owner), owner_id=owner.id)
        return checked
    await store.save_brand(work.db, checked, owner=_column(owner), owner_id=owner.id, now=work.now)
    return checked


async def find_organization_brand(work: Work, organization_id: UUID, *, name: str) -> Brand:
    chosen = await store.find_brand(work.db, owner="organization_id", owner_id=organization_id)
    return (chosen or ChosenBrand()).complete(name=name)


async def find_branded_host(work: Work, host_id: UUID, *, color: str = DEFAULT_COLOR) -> BrandedHost | None:
    """Read a host with their brand: their own, their organization's, or their name in this color."""
    row = await store.find_host(work.db, host_id)
    return to_branded_host(work.runtime, row, color=color) if row else None


def to_branded_host(runtime: Runtime, row: Row, *, color: str) -> BrandedHost:
    """Make a host of a row that has the columns of `profiles.store.BRANDED_HOST`."""
    base, page, path = runtime.settings.public_url, store.to_page_brand(row), photo_path(row["photo"])
    chosen = ChosenBrand(name=row["brand_name"], color=row["color"], logo_url=row["logo_url"])
    brand = replace(chosen.complete(name=row["name"], color=color), photo_url=f"{base}{path}" if path else None)
    if page.logo is not None:
        brand = replace(brand, logo_url=f"{base}{page.logo_path}", logo_size=page.logo.fit(*MAIL_LOGO))
    who = {name: row[name] for name in ("name", "email", "zone", "locale", "photo")}
    return BrandedHost(**who, brand=brand, page=page)


def check_brand(brand: ChosenBrand) -> ChosenBrand:
    """Write a brand in its normal form, or name everything that is wrong with it."""
    name, color, logo = (brand.name or "").strip(), (brand.color or "").lower(), (brand.logo_url or "").strip()
    faults: dict[str, str] = {}
    if len(name) > LONGEST_NAME or not is_line(name):
        faults["name"] = Text("must be one line of at most %(max)s characters", max=LONGEST_NAME)
    if color and BRAND_COLOR.fullmatch(color) is None:
        faults["color"] = Text("must be a color such as %(example)s", example="#3155d9")
    if logo and not (is_web_url(logo) and logo.lower().startswith("https://")):
        faults["logo"] = Text("must be a link that begins with https://")
    if faults:
        raise Invalid(details=faults)
    return ChosenBrand(name=name or None, color=color or None, logo_url=logo or None)


def _column(owner: User | Organization) -> str:
    return "user_id" if isinstance(owner, User) else "organization_id"


async def find_current_username(work: Work, former: str) -> str | None:
    """Find the username to which links with a former one lead; what can't be a username costs no statement."""
    name = fold_ascii(former)
    if not SHAPE.fullmatch(name):
        return None
    return await store.find_current(work.db, name, now=work.now)


async def follow(work: Work, username: str, read: Callable[[str], Awaitable[Found]]) -> Found:
    """Read what a username names, or if nothing is found, what the name to which it leads names."""
    try:
        return await read(username)
    except NotFound:
        current = await find_current_username(work, username)
        if current is None:
            raise
    return await read(current)


async def list_former_usernames(work: Work, user: User) -> list[FormerUsername]:
    return await store.list_of_user(work.db, user.id, now=work.now)


async def set_username_leads(work: Work, user: User, name: str, *, leads: bool) -> None:
    """Choose whether links with a former name lead to the user's page; the name stays reserved."""
    if not is_line(name) or not await store.update_leads(work.db, user.id, name, leads=leads, now=work.now):
        raise ReservedUsernameNotFound


async def check_may_reserve(work: Work, user: User) -> None:
    """Refuse to reserve more names for a user than allowed; runs after the change, which holds the user's row."""
    if await store.count_of_user(work.db, user.id, now=work.now) > MAX_RESERVED:
        raise UsernameLimitExceeded


async def forget_expired(work: Work) -> str:
    """Remove names whose reservation has ended."""
    gone = await delete_old(work.db, "former_usernames", "reserved_until", before=work.now, key="name_hash")
    return f"{gone} former usernames are free"


ACCOUNT_JOBS = (
    Periodic(name="accounts.former_usernames", expression="23 3 * * *", run=forget_expired, transaction="none"),
)
