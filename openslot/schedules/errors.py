"""What schedules refuse."""

from openslot.core.errors import Conflict, NotFound


class ScheduleNotFound(NotFound):
    """No such schedule, or it is another's."""

    code = "schedule_not_found"

    def __init__(self) -> None:
        super().__init__("Schedule not found")


class ScheduleInUse(Conflict):
    """Event types still use the schedule."""

    code = "schedule_in_use"

    def __init__(self) -> None:
        super().__init__("Event types use this schedule; give them another one first")


class OutOfOfficeNotFound(NotFound):
    """No such time away, or it is another's."""

    code = "out_of_office_not_found"

    def __init__(self) -> None:
        super().__init__("Time away not found")
