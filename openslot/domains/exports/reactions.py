"""What exports do because a user asked for one, and the periodic job that deletes files when their time is over."""

from datetime import timedelta
from uuid import UUID

import structlog

from openslot.domains.accounts.errors import UserNotFound
from openslot.domains.exports import store
from openslot.domains.exports.archives import AttemptLost, ExportTooLarge, make_export
from openslot.domains.exports.operations import MAKE
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, GiveUp, Outcome, Periodic, Reaction, Skipped, Work
from openslot.platform.i18n import CodedReason
from openslot.platform.jobs.batches import delete_old, repeat

DELAYS = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 1800))

log = structlog.get_logger()
PIECES = 20
# The row without its file counts for the limit of a day.
ROWS_KEPT_FOR = timedelta(days=2)
ABANDONED_AFTER = timedelta(days=1)


ATTEMPT_LOST = CodedReason("exports.attempt_lost", "it is no longer needed", said="another attempt makes the file")
NO_USER = CodedReason("exports.no_user", "the account is deleted")
TOO_LARGE = CodedReason("exports.too_large", "the file would be larger than 2 GiB")


async def make(work: Work, effect: Effect) -> Outcome:
    """Make the file of an export; after the last try it counts as failed, and the user can ask for another."""
    export_id = UUID(effect.plan(str))
    try:
        await make_export(work.runtime, export_id)
    except AttemptLost:
        return Skipped(ATTEMPT_LOST)
    except UserNotFound:
        return Skipped(NO_USER)
    except ExportTooLarge:
        await _fail(work, export_id)
        raise GiveUp(TOO_LARGE) from None
    # Whatever it is, the worker tries again; after the last try the user must be able to ask for another file.
    except Exception:
        if effect.attempts > len(DELAYS):
            await _fail(work, export_id)
        raise
    return Done()


async def _fail(work: Work, export_id: UUID) -> None:
    async with work.runtime.transaction(SYSTEM) as failing:
        await store.fail_export(failing.db, export_id, now=failing.now)


EXPORT_REACTIONS = (Reaction(name=MAKE, run=make, delays=DELAYS),)


async def delete_expired(work: Work) -> str:
    """Delete the files of expired exports, and give up exports that nobody works on."""
    db = work.db
    given_up = await store.fail_abandoned(db, before=work.now - ABANDONED_AFTER, now=work.now)
    pieces = await repeat(lambda size: store.delete_pieces(db, now=work.now, limit=size), size=PIECES)
    rows = await delete_old(db, "data_exports", "expires_at", before=work.now - ROWS_KEPT_FOR)
    return f"{pieces} pieces and {rows} exports deleted, {given_up} given up"


EXPORT_JOBS = (
    Periodic(name="exports.delete_expired", expression="11 * * * *", run=delete_expired, transaction="none"),
)
