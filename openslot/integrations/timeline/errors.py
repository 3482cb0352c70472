"""What timelines refuse."""

from openslot.core.errors import NotFound
from openslot.i18n import Text


class EffectNotFound(NotFound):
    """No such effect has failed, or it belongs to somebody else."""

    code = "effect_not_found"
    message = Text("This step has not failed, or no longer exists")
