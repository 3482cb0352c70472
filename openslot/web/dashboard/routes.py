"""All pages of the dashboard."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.availability.routes import AVAILABILITY
from openslot.web.dashboard.booking_changes import (
    cancel_as_host,
    reschedule_as_host,
    show_cancel,
    show_reschedule_form,
)
from openslot.web.dashboard.booking_csv import export_bookings
from openslot.web.dashboard.booking_detail import retry_step, show_booking
from openslot.web.dashboard.bookings import show_bookings
from openslot.web.dashboard.calendars.routes import CALENDARS
from openslot.web.dashboard.calls.routes import CALLS
from openslot.web.dashboard.contacts.routes import CONTACTS
from openslot.web.dashboard.conversations.routes import CONVERSATIONS
from openslot.web.dashboard.event_types.routes import EVENT_TYPE_PAGES
from openslot.web.dashboard.help import show_help
from openslot.web.dashboard.home import retry_from_home, show_home
from openslot.web.dashboard.new_booking import book_for_someone, show_new_booking
from openslot.web.dashboard.notifications.routes import NOTIFICATION_PAGES
from openslot.web.dashboard.onboarding.routes import ONBOARDING
from openslot.web.dashboard.profile.routes import PROFILE_PAGES
from openslot.web.dashboard.security.routes import SECURITY
from openslot.web.dashboard.webhooks.routes import WEBHOOK_PAGES
from openslot.web.dashboard.your_data.routes import YOUR_DATA

DASHBOARD: list[HandlerFunction] = [
    show_home,
    retry_from_home,
    show_bookings,
    export_bookings,
    show_new_booking,
    book_for_someone,
    show_booking,
    retry_step,
    show_cancel,
    cancel_as_host,
    show_reschedule_form,
    reschedule_as_host,
    show_help,
    *SECURITY,
    *CONTACTS,
    *CONVERSATIONS,
    *CALLS,
    *PROFILE_PAGES,
    *NOTIFICATION_PAGES,
    *WEBHOOK_PAGES,
    *EVENT_TYPE_PAGES,
    *AVAILABILITY,
    *ONBOARDING,
    *CALENDARS,
    *YOUR_DATA,
]
