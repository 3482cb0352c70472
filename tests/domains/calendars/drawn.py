"""Calendars drawn by chance: what programs write, what they write wrongly, and what somebody writes to do harm."""

from datetime import datetime, timedelta
from random import Random

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
)
ODD_ZONES = ("Head office", "/example.org/Asia/Tokyo", "europe/berlin", "Middle Earth", "Tehran office", "")
DEFINED = {
    "Head office": (
        ("DAYLIGHT", "16010101T020000", "+0100", "+0200", "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3"),
        ("STANDARD", "16010101T030000", "+0200", "+0100", "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10"),
    ),
    "Tehran office": (
        ("DAYLIGHT", "20180322T000000", "+0330", "+0430", "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=22;UNTIL=20220321T203000Z"),
        ("STANDARD", "20180922T000000", "+0430", "+0330", "FREQ=YEARLY;BYMONTH=9;BYMONTHDAY=22;UNTIL=20220921T193000Z"),
    ),
}
BY_DAY: tuple[list[str], ...] = (
    [],
    ["BYDAY=1MO"],
    ["BYDAY=-1FR"],
    ["BYMONTHDAY=1,15,-1"],
    ["BYMONTHDAY=31"],
    ["BYMONTH=3,6,9"],
    ["BYDAY=MO,TU,WE,TH,FR", "BYSETPOS=-1"],
)
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
FIRST, LAST = datetime(2026, 3, 1), datetime(2026, 11, 30)  # noqa: DTZ001 - times of a wall clock
HOSTILE_RULES = (
    "FREQ=SECONDLY",
    "FREQ=SECONDLY;BYHOUR=3",
    "FREQ=SECONDLY;BYDAY=MO,TU;COUNT=99999999",
    "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=DAILY;INTERVAL=0",
    "FREQ=YEARLY;BYDAY=+99999MO",
    "FREQ=HOURLY;BYHOUR=-53",
    "FREQ=FORTNIGHTLY",
    "FREQ=DAILY;COUNT=x",
    "FREQ=DAILY;FREQ=WEEKLY;;=;BYDAY=",
    "INTERVAL=2",
    "FREQ=MONTHLY;BYMONTHDAY=" + ",".join(["31"] * 900),
    "FREQ=DAILY;BYHOUR=" + ",".join(map(str, range(24))) + ";BYMINUTE=" + ",".join(map(str, range(60))),
)
JUNK = (
    "",
    "=",
    ":::",
    ";;;;",
    "DTSTART",
    "DTSTART;TZID=:",
    "two words: and a colon",
    "BEGIN:VALARM",
    "END:VALARM",
    "END:NOTHING",
    "DURATION:PT",
    "SEQUENCE:" + "9" * 5000,
    "EXDATE:" + "x" * 3000,
    "DTEND:20260231T250000Z",
    "RDATE:20261399,20260316T0900",
    'ATTENDEE;CN="unclosed;PARTSTAT=DECLINED:mailto:mara@lindqvist.example',
    "\x00\x01\x7f\ud7ff",
    "DESCRIPTION:Gr\xfc\xdfe \u2028 \u0085 DTSTART:20260316T090000Z",
)


class Drawing:
    """Draws one calendar."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.is_spoiled = self.chance.random() < 0.3

    def draw(self) -> str:
        groups = [self._draw_group(f"uid-{number}") for number in range(self.chance.randint(1, 4))]
        zones = [_define(name) for name in DEFINED if self.chance.random() < 0.8]
        lines = [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            *zones,
            *(line for group in groups for line in group),
            "END:VCALENDAR",
        ]
        text = "\n".join(lines)
        return self._spoil(text) if self.is_spoiled else text

    def _draw_group(self, uid: str) -> list[str]:
        """Draw an event, with some changed repetitions if it has any."""
        start = FIRST + timedelta(minutes=15 * self.chance.randrange(0, 96 * 270))
        if self.chance.random() < 0.3:
            start -= timedelta(days=self.chance.randrange(3000))
        kind = self.chance.choice(("utc", "zone", "zone", "zone", "floating", "day", "odd"))
        zone = self.chance.choice(ODD_ZONES if kind == "odd" else ZONES)
        more, repeats = self._draw_repetition(start, kind, zone)
        lines = [*self._draw_length(start, kind, zone), *more, *self._draw_state()]
        events = [_event(uid, _time("DTSTART", start, kind, zone), lines)]
        for _ in range(self.chance.randint(0, 2) if repeats else 0):
            events.append(self._draw_change(uid, start, kind, zone))
        return events

    def _draw_length(self, start: datetime, kind: str, zone: str) -> list[str]:
        choice = self.chance.random()
        if choice < 0.1:
            return []
        if choice < 0.55:
            unit = timedelta(days=1) if kind == "day" else timedelta(minutes=15)
            return [_time("DTEND", start + unit * self.chance.randint(-1, 8), kind, zone)]
        days = ("DURATION:P1D", "DURATION:P1W", "DURATION:P2D")
        hours = (
            "DURATION:PT1H",
            "DURATION:PT45M",
            "DURATION:PT24H",
            "DURATION:P1DT2H",
            "DURATION:-PT1H",
            "DURATION:PT90S",
        )
        return [self.chance.choice(days if kind == "day" else days[:1] + hours)]

    def _draw_repetition(self, start: datetime, kind: str, zone: str) -> tuple[list[str], bool]:
        lines: list[str] = []
        if self.chance.random() < 0.65:
            lines.append(f"RRULE:{self._draw_rule(start, kind)}")
        if self.chance.random() < 0.2:
            times = [start + timedelta(days=self.chance.randint(1, 60)) for _ in range(self.chance.randint(1, 3))]
            lines.append(_times("RDATE", times, kind, zone))
        if kind != "day" and self.chance.random() < 0.1:
            at = start + timedelta(days=self.chance.randint(1, 60), hours=3)
            lines.append(f"RDATE;VALUE=PERIOD:{at:%Y%m%dT%H%M%S}Z/{self.chance.choice(('PT2H', 'PT30M'))}")
        if lines and self.chance.random() < 0.4:
            times = [start + timedelta(days=self.chance.randint(0, 21)) for _ in range(self.chance.randint(1, 3))]
            lines.append(_times("EXDATE", times, self.chance.choice((kind, kind, kind, "day")), zone))
        return lines, bool(lines)

    def _draw_rule(self, start: datetime, kind: str) -> str:
        chance = self.chance
        if chance.random() < 0.03:
            return chance.choice(HOSTILE_RULES)
        frequency = chance.choice(("DAILY", "DAILY", "WEEKLY", "WEEKLY", "MONTHLY", "YEARLY", "HOURLY"))
        parts = [f"FREQ={frequency}", f"INTERVAL={chance.choice((1, 1, 1, 2, 3, 5))}"]
        end = start + timedelta(days=chance.randint(1, 400))
        if frequency == "HOURLY":
            parts += [f"COUNT={chance.randint(1, 60)}"]
        elif chance.random() < 0.35:
            parts.append(f"COUNT={chance.randint(1, 40)}")
        elif chance.random() < 0.4:
            parts.append(f"UNTIL={end:%Y%m%d}" if kind == "day" else f"UNTIL={end:%Y%m%dT%H%M%S}Z")
        if frequency == "WEEKLY" or (frequency == "DAILY" and chance.random() < 0.3):
            parts += [f"BYDAY={','.join(chance.sample(DAYS, chance.randint(1, 3)))}"] * (chance.random() < 0.6)
            parts += ["WKST=SU"] * (chance.random() < 0.2)
        elif frequency in {"MONTHLY", "YEARLY"}:
            parts += chance.choice(BY_DAY)
        if kind != "day" and frequency == "DAILY" and chance.random() < 0.15:
            parts.append("BYHOUR=8,9,16")
        return ";".join(parts)

    def _draw_state(self) -> list[str]:
        lines = ["SEQUENCE:" + str(self.chance.randint(0, 3))] * (self.chance.random() < 0.3)
        lines += [self.chance.choice(("STATUS:CANCELLED", "STATUS:CONFIRMED"))] * (self.chance.random() < 0.15)
        lines += [self.chance.choice(("TRANSP:TRANSPARENT", "TRANSP:OPAQUE"))] * (self.chance.random() < 0.2)
        answer = self.chance.choice(("ACCEPTED", "DECLINED"))
        lines += [f'ATTENDEE;CN="Mara: L;";PARTSTAT={answer}:MAILTO:Mara@lindqvist.example'] * (
            self.chance.random() < 0.2
        )
        alarm = ["BEGIN:VALARM", "TRIGGER:-PT5M", "DURATION:PT5H", "END:VALARM"]
        return lines + alarm * (self.chance.random() < 0.2)

    def _draw_change(self, uid: str, start: datetime, kind: str, zone: str) -> str:
        at = start + timedelta(days=self.chance.randint(0, 14))
        moved = at + timedelta(days=self.chance.randint(-2, 2))
        if kind != "day":
            moved += timedelta(minutes=self.chance.choice((0, 30, 120)))
        future = ";RANGE=THISANDFUTURE" if self.chance.random() < 0.3 else ""
        replaced = _time("RECURRENCE-ID", at, kind, zone).replace("RECURRENCE-ID", f"RECURRENCE-ID{future}", 1)
        lines = [replaced, *self._draw_length(moved, kind, zone), *self._draw_state()]
        return _event(uid, _time("DTSTART", moved, kind, zone), lines)

    def _spoil(self, text: str) -> str:
        lines = text.split("\n")
        for _ in range(self.chance.randint(1, 3)):
            place = self.chance.randrange(1, len(lines))
            choice = self.chance.randrange(6)
            if choice == 0:
                lines.insert(place, self.chance.choice(JUNK))
            elif choice == 1:
                lines[place : place + 1] = [lines[place][:7], " " + lines[place][7:]]
            elif choice == 2:
                del lines[place]
            elif choice == 3:
                cut = self.chance.randrange(len(lines[place]) + 1)
                lines[place] = lines[place][:cut] + self.chance.choice("\xff:;=,\t0Z") + lines[place][cut:]
            elif choice == 4:
                lines[place] = lines[place].lower()
            else:
                lines.insert(place, lines[self.chance.randrange(len(lines))])
        joined = self.chance.choice(("\r\n", "\n", "\r")).join(lines)
        return joined.encode("latin-1", "replace").decode("utf-8", "replace") if self.chance.random() < 0.2 else joined


def _time(name: str, at: datetime, kind: str, zone: str) -> str:
    return _times(name, [at], kind, zone)


def _times(name: str, times: list[datetime], kind: str, zone: str) -> str:
    if kind == "day":
        return f"{name};VALUE=DATE:{','.join(f'{at:%Y%m%d}' for at in times)}"
    written = ",".join(f"{at:%Y%m%dT%H%M%S}{'Z' * (kind == 'utc')}" for at in times)
    return f"{name};TZID={zone}:{written}" if kind in {"zone", "odd"} and zone else f"{name}:{written}"


def _event(uid: str, start: str, lines: list[str]) -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid}", start, "SUMMARY:Something", *lines, "END:VEVENT"])


def _define(name: str) -> str:
    lines = ["BEGIN:VTIMEZONE", f"TZID:{name}"]
    for kind, start, before, after, rule in DEFINED[name]:
        offsets = [f"TZOFFSETFROM:{before}", f"TZOFFSETTO:{after}"]
        lines += [f"BEGIN:{kind}", f"DTSTART:{start}", *offsets, f"RRULE:{rule}", f"END:{kind}"]
    return "\n".join([*lines, "END:VTIMEZONE"])
