"""What time does to claims: holds run out."""

from openslot.availability.claim_store import expire_all
from openslot.core.events import Periodic
from openslot.core.work import Work


async def expire_claims(work: Work) -> str:
    """Switch expired holds off."""
    return f"{await expire_all(work.db, now=work.now)} holds ran out"


AVAILABILITY_JOBS = (Periodic(name="claims.expire", expression="* * * * *", run=expire_claims),)
