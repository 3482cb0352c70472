"""The nouns of contacts: a person who books, and their past and upcoming meetings."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from unicodedata import normalize
from uuid import UUID

from msgspec import Struct

from openslot.domains.contacts.fields import LINE, PHONE, PROSE, TAGS, ContactField, list_fields
from openslot.platform.core.shapes import with_fields
from openslot.platform.i18n import Text


class Contact(Struct, frozen=True, kw_only=True):
    """Someone who has booked, or whom the owner has added.

    A `ContactField` says all about a field: with its column in the database it is in every API, form, file and tool.
    """

    id: UUID
    owner_id: UUID
    name: str
    email: str
    created_at: datetime
    updated_at: datetime
    phone: Annotated[
        str | None,
        ContactField(
            kind=PHONE,
            label=Text("Phone number"),
            hint=Text("With + and the country code, such as +493012345678"),
            description="With + and the country code; stored as E.164",
            example="+49 30 12345678",
            shown_description="E.164",
            shown_example="+493012345678",
            in_bookings=True,
            crm_property="phone",
            other_names="""phone phonenumber phone1 phone1value telephone tel mobile mobilephone cell cellphone
                primaryphone telefon telefonnummer rufnummer handy mobil mobiltelefon numerodetelephone portable
                telefono numerodetelefono movil celular telefone 電話 電話番号 携帯 携帯電話 الهاتف رقمالهاتف الجوال""",
        ),
    ] = None
    company: Annotated[
        str | None,
        ContactField(
            kind=LINE,
            label=Text("Company"),
            example="Haddad Design",
            in_bookings=True,
            crm_property="",
            other_names="""company companyname organization organisation organization1name employer firma unternehmen
                organisationsname societe entreprise empresa compania organizacion companhia 会社 会社名 勤務先
                الشركة المؤسسة""",
        ),
    ] = None
    notes: Annotated[
        str | None,
        ContactField(
            kind=PROSE,
            label=Text("Notes"),
            example="Prefers mornings.",
            in_bookings=True,
            other_names="""notes note comment comments remarks notizen notiz bemerkung bemerkungen anmerkung kommentar
                remarque remarques commentaire notas nota comentario comentarios observaciones observacoes メモ 備考
                ملاحظات ملاحظة""",
        ),
    ] = None
    tags: Annotated[
        tuple[str, ...],
        ContactField(
            kind=TAGS,
            label=Text("Tags"),
            hint=Text("Separated by commas"),
            description="At most 20; duplicates are removed",
            example=["customer", "vip"],
            other_names="""tags tag labels label categories category groupmembership schlagworter schlagworte kategorien
                etiquettes categories etiquetas categorias タグ ラベル وسوم الوسوم""",
        ),
    ] = ()


CONTACT_FIELDS = list_fields(Contact)
FIELDS_IN_BOOKINGS = tuple(each for each in CONTACT_FIELDS if each.in_bookings)
OTHER_FIELDS = tuple(each for each in CONTACT_FIELDS if not each.in_bookings)
FIELDS_IN_CRM = tuple(each for each in CONTACT_FIELDS if each.crm_property is not None)


@with_fields(((each.name, each.kind.shown) for each in FIELDS_IN_BOOKINGS), kw_only=False)
class ContactSummary(Struct, frozen=True, gc=False):
    """What a list of bookings tells of a contact, with the fields that bookings show."""

    id: UUID
    name: str
    email: str


class NamedContact(Struct, frozen=True):
    id: UUID
    name: str


class CountedContact(Struct, frozen=True):
    """A contact and how many confirmed meetings there are."""

    contact: Contact
    meeting_count: int = 0


class ContactSort(StrEnum):
    NEWEST = "newest"
    NAME = "name"


class ContactEntry(Struct, frozen=True, kw_only=True):
    contact: Contact
    meeting_count: int
    last_met_at: datetime | None
    next_meeting_at: datetime | None
    """When the next meeting begins, or the current one began."""


class Meeting(Struct, frozen=True, kw_only=True):
    id: UUID
    starts_at: datetime
    ends_at: datetime
    status: str
    event_type_id: UUID
    event_type_name: str
    event_type_slug: str


class KnownContact(Struct, frozen=True):
    """A contact with the meetings nearest to now on both sides."""

    contact: Contact
    meeting_count: int = 0
    """How many meetings are confirmed, listed here or not."""

    upcoming: tuple[Meeting, ...] = ()
    """Confirmed meetings that are not over, the soonest first."""

    past: tuple[Meeting, ...] = ()
    """Meetings that are over, whether confirmed or cancelled, the latest first."""


GRAM = 3

# The folded form of a capital İ; without its combining dot it matches the i that people type.
_DOTTED_I = "i\u0307"


def fold(text: str) -> str:
    """Fold a text so that texts that differ only in letter case or code points become equal."""
    return normalize("NFKC", normalize("NFKC", text).casefold().replace(_DOTTED_I, "i"))


def fold_contact(*, name: str, email: str, company: str | None) -> str:
    """Write the text that a search looks in; a line break prevents matches across two fields."""
    return "\n".join(fold(text) for text in (name, email, company or ""))


def cover(folded: str) -> list[str]:
    """Pick trigrams that together touch every character; none where the text is too short to have one."""
    last = len(folded) - GRAM
    starts = [*range(0, last, GRAM), last] if last >= 0 else []
    return [folded[start : start + GRAM] for start in starts]
