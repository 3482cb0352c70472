"""All pages of one's data."""

from openslot.routing.declarations import Handler
from openslot.web.dashboard.your_data.deleting import delete_own_account, show_delete
from openslot.web.dashboard.your_data.exporting import download, request_export, show_data

YOUR_DATA: list[Handler] = [show_data, request_export, download, show_delete, delete_own_account]
