"""All pages of webhooks."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.webhooks.changes import (
    ask_to_delete_endpoint,
    ask_to_rotate,
    delete_endpoint,
    pause_endpoint,
    resume_endpoint,
    rotate_secret,
    send_endpoint_test,
)
from openslot.web.dashboard.webhooks.deliveries import resend_delivery, show_delivery, show_endpoint
from openslot.web.dashboard.webhooks.endpoints import (
    add_endpoint,
    change_endpoint,
    show_endpoint_form,
    show_endpoints,
    show_new_endpoint,
)
from openslot.web.dashboard.webhooks.replay import replay_days, show_replay

WEBHOOK_PAGES: list[HandlerFunction] = [
    show_endpoints,
    show_new_endpoint,
    add_endpoint,
    show_endpoint,
    show_endpoint_form,
    change_endpoint,
    pause_endpoint,
    resume_endpoint,
    send_endpoint_test,
    ask_to_rotate,
    rotate_secret,
    ask_to_delete_endpoint,
    delete_endpoint,
    show_delivery,
    resend_delivery,
    show_replay,
    replay_days,
]
