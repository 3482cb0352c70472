"""All pages of one's data."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.your_data.deleting import (
    delete_own_account,
    send_deletion_link,
    show_delete,
    show_delete_by_link,
)
from openslot.web.dashboard.your_data.exporting import download, request_export, show_data

YOUR_DATA: list[HandlerFunction] = [
    show_data,
    request_export,
    download,
    show_delete,
    show_delete_by_link,
    send_deletion_link,
    delete_own_account,
]
