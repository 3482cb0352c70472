"""The verbs behind a host's list of contacts: sorted, searched, with the last and the next meeting of each."""

from openslot.accounts.models import User
from openslot.contacts import directory_store as store
from openslot.contacts.models import ContactEntry, ContactSort
from openslot.core.work import Work


async def list_directory(
    work: Work, owner: User, *, search: str = "", sort: ContactSort = ContactSort.NEWEST, page: int = 1, limit: int
) -> tuple[list[ContactEntry], int]:
    """Read one page of an owner's contacts with their meetings nearest to now, and how many there are."""
    offset = (page - 1) * limit
    return await store.list_entries(
        work.db, owner.id, search=search, sort=sort, limit=limit, offset=offset, now=work.now
    )
