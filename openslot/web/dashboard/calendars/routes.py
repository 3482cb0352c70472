"""All pages of calendars; fixed paths come before those with an id."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.calendars.connecting import connect_account, connect_feed, show_connect
from openslot.web.dashboard.calendars.connection import (
    ask_to_disconnect,
    change_calendar_password,
    check_now,
    disconnect,
    read_now,
    save_choices,
    show_connection,
)
from openslot.web.dashboard.calendars.missing import decide, show_missing
from openslot.web.dashboard.calendars.overview import (
    ask_to_end_feed,
    choose_target,
    end_feed,
    renew_own_feed,
    show_calendars,
)

CALENDARS: list[HandlerFunction] = [
    show_calendars,
    choose_target,
    renew_own_feed,
    ask_to_end_feed,
    end_feed,
    show_connect,
    connect_account,
    connect_feed,
    show_missing,
    decide,
    show_connection,
    save_choices,
    check_now,
    read_now,
    change_calendar_password,
    ask_to_disconnect,
    disconnect,
]
