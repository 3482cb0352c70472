"""How Hypothesis looks for examples: the same ones each time, at any pace; others with OPENSLOT_LONG."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "openslot",
    derandomize=os.environ.get("OPENSLOT_LONG") != "1",
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("openslot")
