"""All pages of the profile."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.profile.page import (
    change_former_link,
    change_link,
    change_look,
    change_profile,
    show_profile,
)
from openslot.web.dashboard.profile.photo import ask_to_remove_photo, remove_photo, upload_photo

PROFILE_PAGES: list[HandlerFunction] = [
    show_profile,
    change_profile,
    change_link,
    change_former_link,
    change_look,
    upload_photo,
    ask_to_remove_photo,
    remove_photo,
]
