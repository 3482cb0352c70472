"""Times as a host says them: the day, the hours, how long until then, and what the clock shows elsewhere."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from openslot.core.zones import get_zone
from openslot.i18n import PluralText, Text
from openslot.web.words import City, MonthDay, Weekday

SOON, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def begin_day(on: date, zone: str) -> datetime:
    """Return when a day begins in a zone."""
    return datetime.combine(on, time.min, get_zone(zone))


def day_heading(on: date, *, today: date) -> Text | Weekday:
    """Write `Today, 16 March`, `Tomorrow, 17 March`, or `Thursday 19 March`."""
    if on == today:
        return Text("Today, %(day)s", day=MonthDay(on))
    if on == today + DAY:
        return Text("Tomorrow, %(day)s", day=MonthDay(on))
    return Weekday(on, today)


def hours(starts_at: datetime, ends_at: datetime, zone: str) -> Text:
    """Write from when to when."""
    start, end = _local(starts_at, zone), _local(ends_at, zone)
    return Text("%(start)s \u2013 %(end)s", start=start.time(), end=end.time())


def day_and_hours(starts_at: datetime, ends_at: datetime, zone: str, *, now: datetime) -> Text:
    """Write `Tuesday 16 March`, and from when to when."""
    day = Weekday(_local(starts_at, zone).date(), _local(now, zone).date())
    return Text("%(day)s, %(time)s", day=day, time=hours(starts_at, ends_at, zone))


def at(instant: datetime, zone: str, *, now: datetime) -> Text:
    """Write `today, 08:12`, and `Monday 15 March, 08:12` otherwise."""
    local, today = _local(instant, zone), _local(now, zone).date()
    if local.date() == today:
        return Text("today, %(time)s", time=local.time())
    return Text("%(day)s, %(time)s", day=Weekday(local.date(), today), time=local.time())


def retry_in(wait: timedelta) -> Text:
    """Write `retry in 4 min`."""
    if wait < SOON:
        return Text("retry in less than a minute")
    if wait < HOUR:
        return PluralText("retry in %(count)s min", "retry in %(count)s min", count=round(wait / SOON))
    if wait < 2 * DAY:
        return PluralText("retry in %(count)s h", "retry in %(count)s h", count=round(wait / HOUR))
    return PluralText("retry in %(count)s day", "retry in %(count)s days", count=round(wait / DAY))


def is_elsewhere(zone: str, host_zone: str, *, at_time: datetime) -> bool:
    """Return whether the clock shows another time in a zone than in the host's."""
    return _offset(at_time, get_zone(zone)) != _offset(at_time, get_zone(host_zone))


def elsewhere(zone: str, host_zone: str, *, at_time: datetime) -> Text | City:
    """Write `Lagos, 1 h behind`."""
    difference = _offset(at_time, get_zone(zone)) - _offset(at_time, get_zone(host_zone))
    minutes = int(abs(difference) / SOON)
    time_apart = (
        Text("%(hours)s h %(minutes)s min", hours=minutes // 60, minutes=minutes % 60)
        if minutes % 60
        else Text("%(hours)s h", hours=minutes // 60)
    )
    if difference > timedelta():
        return Text("%(city)s, %(time)s ahead", city=City(zone), time=time_apart)
    if difference < timedelta():
        return Text("%(city)s, %(time)s behind", city=City(zone), time=time_apart)
    return Text("%(city)s, same time", city=City(zone)) if zone != host_zone else City(zone)


def _local(instant: datetime, zone: str) -> datetime:
    return instant.astimezone(get_zone(zone))


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()
