"""All pages of event types."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.event_types.changes import (
    archive_event_type,
    ask_for_private_link,
    ask_to_delete,
    ask_to_make_public,
    create_private_link,
    delete_event_type,
    make_public,
    restore_event_type,
)
from openslot.web.dashboard.event_types.creating import create_event_type, show_new_event_type
from openslot.web.dashboard.event_types.editing import save_event_type, show_event_type_form
from openslot.web.dashboard.event_types.embedding import show_embed, try_embed
from openslot.web.dashboard.event_types.listing import move_event_type, show_event_types
from openslot.web.dashboard.event_types.previewing import (
    preview_changes,
    preview_new,
    show_new_preview,
    show_saved_preview,
)

EVENT_TYPE_PAGES: list[HandlerFunction] = [
    show_event_types,
    create_event_type,
    move_event_type,
    show_new_event_type,
    show_new_preview,
    preview_new,
    show_event_type_form,
    save_event_type,
    show_saved_preview,
    preview_changes,
    archive_event_type,
    restore_event_type,
    ask_for_private_link,
    create_private_link,
    ask_to_make_public,
    make_public,
    ask_to_delete,
    delete_event_type,
    show_embed,
    try_embed,
]
