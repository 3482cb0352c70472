"""A plugin of pytest: no example of hypothesis has a deadline, because a loaded machine may stand still in any."""

from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
