"""Mail and messages to strangers are counted by who causes them: an account that books for others, or who books."""

from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.allowances.models import Allowance, CauseKind, Cost, CostCause
from openslot.domains.allowances.operations import causes_of, has_spent, has_spent_on_page, note_refused_cost, spend
from openslot.domains.allowances.rules import DAY, HOUR
from openslot.domains.bookings import rules
from openslot.domains.bookings.models import BookingWanted
from openslot.domains.bookings.strangers.store import count_strangers, is_phone_proven, list_sending_numbers
from openslot.platform.core.countries import CountryNames, is_allowed, list_allowed
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

OTHER_COUNTRY = Text("is of a country that messages are not sent to, only to: %(countries)s. Leave the box unticked")


async def spend_mail_of_booking(work: Work, host_id: UUID, wanted: BookingWanted) -> BookingWanted:
    """Refuse a booking that would mail more strangers than whoever asks may cause.

    Beyond the messages that they may cause it is made without them: what is returned says so.
    """
    await spend_mail(work, host_id, wanted.invitee.email, wanted.guests)
    agreed = wanted.message_consent
    if agreed is None or await _has_spent_message(work, host_id, agreed.phone):
        return wanted
    return replace(wanted, message_consent=replace(agreed, is_used=False))


async def spend_mail(work: Work, host_id: UUID, invitee: str, guests: Sequence[str]) -> None:
    """Refuse what would mail more strangers than whoever asks may cause.

    Who books is no stranger; for whom a host books may be one. Cancellations cost nothing: they tell people of what
    they were told before.
    """
    is_host = rules.is_host(work.actor)
    people = [invitee, *guests] if is_host else [*guests]
    if not people:
        return
    if causes := await _causes_of(work, host_id, invitee=invitee):
        is_trusted = any(each.is_trusted for each in causes)
        amount = await count_strangers(work.db, host_id, people, is_trusted=is_trusted)
        await spend(work, Cost.MAIL, causes, amount=amount, host_id=host_id)


async def reserve_confirmation(work: Work, host_id: UUID) -> bool:
    """Spend the invitee's first email; if their network may cause it, nothing that others do can keep it from them.

    Of a host for whom nobody vouches only so many are reserved.
    """
    networks = [each for each in await causes_of(work) if each.kind is CauseKind.NETWORK]
    if rules.is_host(work.actor) or not networks:
        return False
    is_within = await has_spent(work, Cost.MAIL, networks, scope="confirmations", host_id=host_id)
    return is_within and await has_spent_on_page(work, host_id)


async def _has_spent_message(work: Work, host_id: UUID, phone: str) -> bool:
    """Refuse a phone that no number of the host sends to, and spend one that has proven nothing."""
    numbers = await list_sending_numbers(work.db, host_id)
    if not numbers:
        return True
    if not any(is_allowed(phone, number=each.number, countries=each.countries) for each in numbers):
        cause = CostCause(kind=CauseKind.COUNTRY, name=str(host_id))
        note_refused_cost(work.runtime, Cost.MESSAGE, cause, Allowance(0, DAY), host_id=host_id)
        allowed = dict.fromkeys(code for each in numbers for code in list_allowed(each.number, each.countries))
        raise Invalid(details={"messageConsent.phone": OTHER_COUNTRY.fill(countries=CountryNames(tuple(allowed)))})
    # Whoever wants messages sent to others names a domain that is not theirs.
    causes = await _causes_of(work, host_id)
    if not causes or await is_phone_proven(work.db, host_id, phone, since=work.now - HOUR):
        return True
    return await has_spent(work, Cost.MESSAGE, causes, host_id=host_id)


async def _causes_of(work: Work, host_id: UUID, *, invitee: str | None = None) -> tuple[CostCause, ...]:
    # Agents act for the host of the booking.
    account_id = host_id if work.actor.agent and work.actor.user_id is None else None
    return await causes_of(work, email=None if rules.is_host(work.actor) else invitee, account_id=account_id)


async def is_stranger(work: Work, host_id: UUID, email: str, *, is_trusted: bool) -> bool:
    return bool(await count_strangers(work.db, host_id, [email], is_trusted=is_trusted))
