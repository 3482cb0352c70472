"""Which contacts an address asks for."""

from openslot.accounts.models import User
from openslot.contacts.models import ContactSort
from openslot.routing import Request
from openslot.web.dashboard.list_queries import ListQuery, read_list_query


def read_contacts_query(request: Request, user: User) -> ListQuery:
    """Read the search and the order."""
    return read_list_query(request, user, "/contacts", choices={"sort": frozenset(ContactSort)})


def read_sort(query: ListQuery) -> ContactSort:
    """Return the order that is asked for."""
    return ContactSort(query.form["sort"] or ContactSort.NEWEST)
