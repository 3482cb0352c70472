"""Pages: upload and remove a photo."""

from openslot.accounts import profiles
from openslot.accounts.models import User
from openslot.accounts.pictures import EMPTY, MOST_BYTES, prepare_picture
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.routing import Form, RateLimit, Response, get, post
from openslot.web.dashboard.profile.forms import PhotoForm
from openslot.web.dashboard.profile.page import HERE, profile_page
from openslot.web.pages import page, redirect

# A file that is only a little too large is refused at its field, with the rest of the page.
ACCEPTED = 2 * MOST_BYTES
UPLOADS = RateLimit("photos", 20)


@post(f"{HERE}/photo", transaction="none", most_bytes=ACCEPTED, limit=UPLOADS)
async def upload_photo(work: Work, user: User, form: Form[PhotoForm]) -> Response:
    """Prepare a picture while no connection is held, then keep it."""
    sent = form.sent.photo if form.sent else None
    if sent is None:
        return await profile_page(work, user, photo=form.with_faults({"photo": EMPTY}))
    try:
        picture = await prepare_picture(sent.body)
    except Invalid as refusal:
        return await profile_page(work, user, photo=form.with_faults(refusal.faults))
    async with work.transaction():
        await profiles.set_photo(work, user, picture)
    return redirect(f"{HERE}?done=photo")


@get(f"{HERE}/photo/remove")
async def ask_to_remove_photo(user: User) -> Response:
    """Ask whether the photo is to be removed."""
    path = profiles.photo_path(user.photo)
    if path is None:
        return redirect(HERE)
    return page("dashboard/profile/remove_photo.html", user, here=HERE, photo=path)


@post(f"{HERE}/photo/remove")
async def remove_photo(work: Work, user: User) -> Response:
    """Remove the photo."""
    await profiles.remove_photo(work, user)
    return redirect(f"{HERE}?done=removed")
