"""All pages of notifications."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.notifications.page import change_notifications, change_reminders, show_notifications

NOTIFICATION_PAGES: list[HandlerFunction] = [show_notifications, change_notifications, change_reminders]
