"""The people who book with the demo's hosts."""

from msgspec import Struct


class Guest(Struct, frozen=True):
    name: str
    email: str
    zone: str
    phone: str = ""
    company: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()


GUESTS = (
    Guest("Priya Raman", "priya@raman.example", "Asia/Kolkata", "+912212345678", "Raman Textiles", "Pricing for 12"),
    Guest(
        "Luis Ferreira", "luis@ferreira.example", "Europe/Lisbon", "+351211234567", "Ferreira & Filhos", "A new site"
    ),
    Guest("Hana Kim", "hana@kim.example", "Asia/Seoul", "+82212345678", "Kim Ceramics", "", ("customer",)),
    Guest("Chidi Eze", "chidi@eze.example", "Africa/Lagos", "+2342033123456", "Eze Logistics", "Contract, page 4"),
    Guest("Ewa Nowak", "ewa@nowak.example", "Europe/Warsaw", "+48221234567", "", "First call"),
    Guest("Grace Miller", "grace@miller.example", "America/Chicago", "+13125550123", "Miller Farms", "Bring the plans"),
    Guest("Ivo Horvat", "ivo@horvat.example", "Europe/Zagreb", "+38512345678", "Horvat Boats", "", ("customer",)),
    Guest("Aroha Ngata", "aroha@ngata.example", "Pacific/Auckland", "+6491234567", "Ngata Studio", "Follow-up"),
    Guest("Sofia Rossi", "sofia@rossi.example", "Europe/Rome", "+390612345678", "Rossi Vini", "", ("customer", "vip")),
    Guest("Tomás Herrera", "tomas@herrera.example", "America/Bogota", "", "Café Herrera", "Opening in spring"),
    Guest("Anneke de Vries", "anneke@devries.example", "Europe/Amsterdam", "+31201234567", "De Vries Bikes"),
    Guest("Yusuf Demir", "yusuf@demir.example", "Europe/Istanbul", "", "Demir Architects", "Two floors, one budget"),
    Guest("Emily Carter", "emily@carter.example", "America/New_York", "+12125550147", "Carter & Lane", "", ("vip",)),
    Guest("Kenji Sato", "kenji@sato.example", "Asia/Tokyo", "", "Sato Instruments", "Demo for the board"),
    Guest("Amina Diallo", "amina@diallo.example", "Africa/Dakar", "+221331234567", "Diallo Foods"),
    Guest("Oskar Lund", "oskar@lund.example", "Europe/Stockholm", "", "", "Question about the invoice"),
    Guest("Clara Schmidt", "clara@schmidt.example", "Europe/Berlin", "+493012345678", "Schmidt Optik", "Renewal"),
    Guest("Noah Tremblay", "noah@tremblay.example", "America/Toronto", "", "Tremblay Outdoor"),
    Guest("Leila Haddad", "leila@haddad.example", "Asia/Beirut", "+9611234567", "Haddad Design", "", ("partner",)),
    Guest("Marek Dvořák", "marek@dvorak.example", "Europe/Prague", "", "Dvořák Glass", "Second opinion"),
    Guest("Isabel Moreno", "isabel@moreno.example", "Europe/Madrid", "+34911234567", "", ""),
    Guest("Finn Byrne", "finn@byrne.example", "Europe/Dublin", "", "Byrne Books", "Newsletter"),
    Guest("Lucía Paz", "lucia@paz.example", "America/Argentina/Buenos_Aires", "", "Paz Films", "", ("partner",)),
    Guest("Deepak Nair", "deepak@nair.example", "Asia/Dubai", "+97141234567", "Nair Trading", "Team of 40"),
)
SOURCES = ("direct", "harbor.example", "newsletter", "search.example")
REASONS = ("Ill today, sorry", "The train is late", "Something came up", "Double booked", "We found another solution")


def came_from(name: str) -> str:
    """Choose one of the sources of the demo's visits for a guest."""
    return SOURCES[len(name) % len(SOURCES)]
