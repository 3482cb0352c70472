"""How the hosts of a team are chosen, in words."""

from openslot.platform.i18n import Text

LABELS = {
    "max_lead": Text("How many bookings ahead a host may be"),
    "window_days": Text("Days for which bookings are counted"),
    "per_day": Text("Bookings of this event type a day"),
    "per_week": Text("Bookings of this event type a week"),
    "host_per_day": Text("Bookings of this event type that a host has a day"),
    "host_per_week": Text("Bookings of this event type that a host has a week"),
    "host_total_per_day": Text("Meetings of all kinds that a host has a day"),
    "host_total_per_week": Text("Meetings of all kinds that a host has a week"),
    "picks_anew": Text("If hosts are not free at a new time"),
    "replaces_leavers": Text("If a host leaves the team"),
    "counts_host_cancellations": Text("If a host cancels a booking"),
    "counts_no_shows": Text("If the invitee does not come"),
}
