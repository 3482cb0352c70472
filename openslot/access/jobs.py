"""What time wears away: old logs, kept answers and expired sessions."""

from openslot.access.idempotency import forget_old_answers
from openslot.access.keys import CredentialKind
from openslot.access.limits import forget_old_logs
from openslot.access.store import delete_expired_sessions, keep_uses
from openslot.core.events import Periodic
from openslot.core.work import Work


async def tidy_access(work: Work) -> str:
    """Keep when credentials were last used, and remove what nobody can use any more."""
    for kind in CredentialKind:
        await keep_uses(work.db, kind)
    logs = await forget_old_logs(work.db)
    answers = await forget_old_answers(work.db, now=work.now)
    sessions = await delete_expired_sessions(work.db, now=work.now)
    return f"{logs} limit logs, {answers} kept answers, {sessions} sessions removed"


ACCESS_JOBS = (Periodic(name="access.tidy", expression="*/5 * * * *", run=tidy_access),)
