"""The verbs of notifications: which mails a host wants."""

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.integrations.mail import notification_store as store
from openslot.integrations.mail.topics import MailTopic, decide_topics, list_choices


async def get_topics(work: Work, host: User) -> frozenset[MailTopic]:
    """Return which mails a host gets."""
    return decide_topics(await store.find_choices(work.db, host.id))


async def set_topics(work: Work, host: User, wanted: frozenset[MailTopic]) -> None:
    """Choose which mails a host gets; mail to invitees and about the account's security is not concerned."""
    await store.replace_choices(work.db, host.id, list_choices(wanted), now=work.now)
