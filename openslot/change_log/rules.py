"""What a line of the change log holds."""

from openslot.change_log.models import Fields


def keep_changed(before: Fields, after: Fields) -> tuple[Fields, Fields]:
    """Leave out fields that are the same before and after."""
    same = {name for name in before.keys() & after.keys() if before[name] == after[name]}
    return (
        {name: value for name, value in before.items() if name not in same},
        {name: value for name, value in after.items() if name not in same},
    )
