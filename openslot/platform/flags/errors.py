"""What flags refuse."""

from openslot.platform.core.errors import Forbidden, NotFound
from openslot.platform.i18n import Text


class FlagNotFound(NotFound):
    code = "flag_not_found"
    message = Text("Feature flag not found")


class FeatureDisabled(Forbidden):
    code = "feature_disabled"
    message = Text("This feature is switched off")
