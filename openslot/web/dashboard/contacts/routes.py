"""All pages of contacts."""

from openslot.routing.declarations import HandlerFunction
from openslot.web.dashboard.contacts.contact_csv import export_contacts
from openslot.web.dashboard.contacts.contact_detail import show_contact
from openslot.web.dashboard.contacts.contact_forms import (
    ask_to_delete_contact,
    create_contact_by_form,
    delete_contact_by_form,
    edit_contact,
    show_contact_form,
    show_new_contact,
)
from openslot.web.dashboard.contacts.contact_list import show_contacts
from openslot.web.dashboard.contacts.import_pages import (
    ask_to_delete_import,
    delete_import_by_form,
    show_import,
    start_import_by_form,
)
from openslot.web.dashboard.contacts.import_report import export_bad_lines
from openslot.web.dashboard.contacts.import_upload import show_imports, upload_file

CONTACTS: list[HandlerFunction] = [
    show_contacts,
    export_contacts,
    show_new_contact,
    create_contact_by_form,
    show_imports,
    upload_file,
    show_import,
    start_import_by_form,
    export_bad_lines,
    ask_to_delete_import,
    delete_import_by_form,
    show_contact,
    show_contact_form,
    edit_contact,
    ask_to_delete_contact,
    delete_contact_by_form,
]
