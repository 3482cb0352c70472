"""What schedules refuse."""

from datetime import date

from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.i18n import Text


class ScheduleNotFound(NotFound):
    """No such schedule, or it belongs to somebody else."""

    code = "schedule_not_found"
    message = Text("Schedule not found")


class ScheduleInUse(Conflict):
    """Event types still use the schedule."""

    code = "schedule_in_use"
    message = Text("This schedule is used by event types. Assign them another schedule first")


class LastScheduleRequired(Conflict):
    """The host's only schedule can't be deleted."""

    code = "last_schedule_required"
    message = Text("This is your only schedule. Add another one before you delete it")


class ScheduleLimitExceeded(Conflict):
    """The host has reached the limit of schedules."""

    code = "schedule_limit_exceeded"

    def __init__(self, max_: int) -> None:
        super().__init__(Text("You've reached the limit of %(count)s schedules", count=max_))


class ScheduleChanged(Conflict):
    """Somebody else has changed the schedule since it was read."""

    code = "schedule_changed"
    message = Text("This was changed in another window since you opened the page. Check it and save again")


class OverrideAlreadyExists(Conflict):
    """Some of the dates already have their own hours."""

    code = "override_already_exists"

    def __init__(self, on: date) -> None:
        super().__init__(Text("%(day)s already has different hours. Change or remove them first", day=on))


class OverrideNotFound(NotFound):
    """No hours are set for this date."""

    code = "override_not_found"
    message = Text("This date has no hours of its own")


class OutOfOfficeNotFound(NotFound):
    """No such out-of-office period, or it belongs to somebody else."""

    code = "out_of_office_not_found"
    message = Text("Out-of-office period not found")
