"""What schedules refuse."""

from datetime import date

from openslot.core.errors import Conflict, NotFound
from openslot.i18n import Text


class ScheduleNotFound(NotFound):
    """No such schedule, or it is another's."""

    code = "schedule_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Schedule not found"))


class ScheduleInUse(Conflict):
    """Event types still use the schedule."""

    code = "schedule_in_use"

    def __init__(self) -> None:
        super().__init__(Text("This schedule is used by event types. Assign them another schedule first"))


class LastSchedule(Conflict):
    """A host keeps at least one schedule."""

    code = "last_schedule"

    def __init__(self) -> None:
        super().__init__(Text("This is your only schedule. Add another one before you delete it"))


class TooManySchedules(Conflict):
    """The host has as many schedules as one may have."""

    code = "too_many_schedules"

    def __init__(self, most: int) -> None:
        super().__init__(Text("You've reached the limit of %(count)s schedules", count=most))


class ScheduleChanged(Conflict):
    """What is saved was changed since it was read."""

    code = "schedule_changed"

    def __init__(self) -> None:
        super().__init__(Text("This was changed in another window since you opened the page. Check it and save again"))


class OverrideExists(Conflict):
    """Some of the dates have hours of their own already."""

    code = "override_exists"

    def __init__(self, on: date) -> None:
        super().__init__(Text("%(day)s already has different hours. Change or remove them first", day=on))


class OverrideNotFound(NotFound):
    """The date has no hours of its own."""

    code = "override_not_found"

    def __init__(self) -> None:
        super().__init__(Text("This date has no hours of its own"))


class OutOfOfficeNotFound(NotFound):
    """No such time away, or it is another's."""

    code = "out_of_office_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Out-of-office period not found"))
