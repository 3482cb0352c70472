"""What schedules refuse."""

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


class OutOfOfficeNotFound(NotFound):
    """No such time away, or it is another's."""

    code = "out_of_office_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Out-of-office period not found"))
