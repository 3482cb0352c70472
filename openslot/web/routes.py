"""All pages, by path."""

from openslot.routing import Mount
from openslot.web.account import change_password, show_account
from openslot.web.api_keys import ask_to_revoke, make_key, revoke_key, show_keys
from openslot.web.bookings_feed import bookings_feed
from openslot.web.calendar_file import calendar_file
from openslot.web.dashboard.routes import DASHBOARD
from openslot.web.invite import accept_invitation, show_invitation
from openslot.web.setup import set_up, show_setup
from openslot.web.sign_in import log_in, log_out, show_login
from openslot.web.static_files import favicon, robots, static_file

PAGES = Mount(
    prefix="",
    handlers=[
        *DASHBOARD,
        show_login,
        log_in,
        log_out,
        show_account,
        change_password,
        show_keys,
        make_key,
        ask_to_revoke,
        revoke_key,
        show_setup,
        set_up,
        bookings_feed,
        calendar_file,
        show_invitation,
        accept_invitation,
        static_file,
        favicon,
        robots,
    ],
)
