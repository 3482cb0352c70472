"""What the columns of a file hold, guessed from their names in seven languages."""

import re
from collections.abc import Iterator
from functools import cache
from unicodedata import category, normalize

from openslot.contacts.folding import fold
from openslot.contacts.import_models import Field
from openslot.i18n import Text
from openslot.i18n.languages import DEFAULT, LANGUAGES, Locale
from openslot.i18n.localization import localize

# As an exported file names its columns; the first and last name are never exported.
COLUMN_NAMES = {
    Field.NAME: Text("Name"),
    Field.FIRST_NAME: Text("First name"),
    Field.LAST_NAME: Text("Last name"),
    Field.EMAIL: Text("Email address"),
    Field.PHONE: Text("Phone number"),
    Field.COMPANY: Text("Company"),
    Field.NOTES: Text("Notes"),
    Field.TAGS: Text("Tags"),
}
# What other programs call them, folded and without spaces and punctuation.
OTHER_NAMES = {
    Field.NAME: """name fullname displayname contact contactname kontakt ansprechpartner vollstandigername nomcomplet
        nometnom nombrecompleto nombreyapellidos nomecompleto 名前 氏名 お名前 表示名 الاسم الاسمالكامل""",
    Field.FIRST_NAME: """firstname givenname forename vorname rufname prenom nombredepila primeironome 名
        الاسمالاول""",
    Field.LAST_NAME: """lastname surname familyname nachname familienname zuname nomdefamille apellido apellidos
        sobrenome ultimonome 姓 苗字 اسمالعائلة اللقب""",
    Field.EMAIL: """email emailaddress emails email1 email1value mail mailaddress primaryemail workemail emailadresse
        mailadresse adresseemail adressemail courriel adressedemessagerie correo correoelectronico direcciondecorreo
        enderecodeemail メール メールアドレス eメール 電子メール البريدالالكتروني بريدالكتروني الايميل""",
    Field.PHONE: """phone phonenumber phone1 phone1value telephone tel mobile mobilephone cell cellphone primaryphone
        telefon telefonnummer rufnummer handy mobil mobiltelefon numerodetelephone portable telefono
        numerodetelefono movil celular telefone 電話 電話番号 携帯 携帯電話 الهاتف رقمالهاتف الجوال""",
    Field.COMPANY: """company companyname organization organisation organization1name employer firma unternehmen
        organisationsname societe entreprise empresa compania organizacion companhia 会社 会社名 勤務先
        الشركة المؤسسة""",
    Field.NOTES: """notes note comment comments remarks notizen notiz bemerkung bemerkungen anmerkung kommentar remarque
        remarques commentaire notas nota comentario comentarios observaciones observacoes メモ 備考 ملاحظات ملاحظة""",
    Field.TAGS: """tags tag labels label categories category groupmembership schlagworter schlagworte kategorien
        etiquettes categories etiquetas categorias タグ ラベル وسوم الوسوم""",
}


def guess_columns(header: tuple[str, ...], first: tuple[str, ...]) -> tuple[str, ...]:
    """Guess what each column holds, at most one column for each field; without names, only the address is found."""
    known, taken, columns = _known_names(), set[str](), []
    for place, name in enumerate(header):
        field = known.get(_plain(name), "") if name else _guess_by_value(first[place] if place < len(first) else "")
        columns.append("" if field in taken else field)
        taken |= {field} - {""}
    return tuple(_settle_names(columns))


def _settle_names(columns: list[str]) -> list[str]:
    """Leave either the whole name or its two parts; beside one part, "Nom" or "Nombre" is the other part."""
    parts = {Field.FIRST_NAME, Field.LAST_NAME} & set(columns)
    if Field.NAME in columns and len(parts) == 1:
        other = Field.LAST_NAME if Field.FIRST_NAME in parts else Field.FIRST_NAME
        return [other if each == Field.NAME else each for each in columns]
    if Field.NAME in columns:
        return ["" if each in parts else each for each in columns]
    if len(parts) == 1:
        return [Field.NAME if each in parts else each for each in columns]
    return columns


def _guess_by_value(cell: str) -> str:
    return Field.EMAIL if "@" in cell else ""


def _plain(name: str) -> str:
    """Leave only letters and digits, without accents."""
    letters = (each for each in normalize("NFKD", fold(name)) if category(each) != "Mn")
    return re.sub(r"[\W_]+", "", "".join(letters))


@cache
def _known_names() -> dict[str, str]:
    return dict(_list_names())


def _list_names() -> Iterator[tuple[str, str]]:
    for field, names in OTHER_NAMES.items():
        yield from ((_plain(name), field) for name in names.split())
    # The names that our own files have come last, because they are certain.
    for language in LANGUAGES.values():
        locale = Locale(language=language, formats=DEFAULT.formats)
        yield from ((_plain(str(localize(text, locale))), field) for field, text in COLUMN_NAMES.items())
