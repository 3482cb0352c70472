"""All pages of the first steps."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.onboarding.calendar import connect_calendar, show_welcome_calendar, skip_calendar
from openslot.web.dashboard.onboarding.hours import choose_hours, show_welcome_hours
from openslot.web.dashboard.onboarding.link import show_welcome_link
from openslot.web.dashboard.onboarding.zone import choose_zone, finish_welcome, show_welcome, show_welcome_zone

ONBOARDING: list[HandlerFunction] = [
    show_welcome,
    show_welcome_zone,
    choose_zone,
    show_welcome_hours,
    choose_hours,
    show_welcome_calendar,
    connect_calendar,
    skip_calendar,
    show_welcome_link,
    finish_welcome,
]
