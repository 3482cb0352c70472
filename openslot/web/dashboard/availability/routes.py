"""All pages about availability."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.availability.away import add_away, ask_to_remove_away, remove_away, show_away
from openslot.web.dashboard.availability.deleting import ask_to_delete_schedule, delete_schedule
from openslot.web.dashboard.availability.holidays import change_holidays
from openslot.web.dashboard.availability.overrides import (
    add_overrides,
    ask_to_remove_override,
    change_override,
    remove_override,
    show_new_override,
    show_override,
)
from openslot.web.dashboard.availability.schedule import (
    change_schedule_details,
    duplicate_schedule,
    make_default,
    show_schedule,
)
from openslot.web.dashboard.availability.schedules import add_schedule, show_schedules
from openslot.web.dashboard.availability.weekly_hours import change_weekly_hours
from openslot.web.dashboard.availability.why import show_why

AVAILABILITY: list[HandlerFunction] = [
    show_schedules,
    add_schedule,
    show_away,
    add_away,
    ask_to_remove_away,
    remove_away,
    show_why,
    show_schedule,
    change_weekly_hours,
    change_schedule_details,
    make_default,
    duplicate_schedule,
    ask_to_delete_schedule,
    delete_schedule,
    change_holidays,
    show_new_override,
    add_overrides,
    show_override,
    change_override,
    ask_to_remove_override,
    remove_override,
]
