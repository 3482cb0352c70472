"""All pages, by path."""

from openslot.routing import Mount
from openslot.web.account import change_password, show_account
from openslot.web.account_email import (
    ask_for_new_address,
    confirm_new_address,
    show_change_of_address,
    show_new_address,
    withdraw_new_address,
)
from openslot.web.admin.routes import ADMINISTRATION
from openslot.web.api_keys import ask_to_revoke, create_key, revoke_key, show_keys
from openslot.web.booking_page.event_type import book, show_event_type
from openslot.web.booking_page.host import show_host
from openslot.web.booking_page.llms import llms_text
from openslot.web.booking_page.manage import (
    ask_to_cancel,
    cancel,
    reschedule,
    show_managed,
    show_reschedule,
)
from openslot.web.booking_page.qr import qr_image, show_qr
from openslot.web.bookings_feed import bookings_feed
from openslot.web.calendar_file import calendar_file
from openslot.web.dashboard.routes import DASHBOARD
from openslot.web.invite import accept_invitation, show_invitation
from openslot.web.oidc import begin_oidc, finish_oidc
from openslot.web.organization.routes import ORGANIZATION
from openslot.web.photos import send_photo
from openslot.web.setup import set_up, show_setup
from openslot.web.sign_in import log_in, log_out, show_login
from openslot.web.sign_up.routes import SIGN_UP
from openslot.web.static_files import favicon, robots, static_file
from openslot.web.two_factor import send_code, show_second_step
from openslot.web.unsubscribe import show_unsubscribe, unsubscribe
from openslot.web.widget.demo import show_widget_demo
from openslot.web.widget.script import widget_script

PAGES = Mount(
    prefix="",
    handlers=[
        *DASHBOARD,
        *ADMINISTRATION,
        *ORGANIZATION,
        show_login,
        log_in,
        log_out,
        *SIGN_UP,
        show_second_step,
        send_code,
        begin_oidc,
        finish_oidc,
        show_account,
        change_password,
        show_change_of_address,
        ask_for_new_address,
        withdraw_new_address,
        show_new_address,
        confirm_new_address,
        show_keys,
        create_key,
        ask_to_revoke,
        revoke_key,
        show_setup,
        set_up,
        bookings_feed,
        calendar_file,
        show_invitation,
        accept_invitation,
        show_unsubscribe,
        unsubscribe,
        static_file,
        send_photo,
        favicon,
        robots,
        llms_text,
        widget_script,
        show_widget_demo,
        show_host,
        show_event_type,
        show_qr,
        qr_image,
        book,
        show_managed,
        show_reschedule,
        reschedule,
        ask_to_cancel,
        cancel,
    ],
)
