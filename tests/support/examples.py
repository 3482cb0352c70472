"""How Hypothesis looks for examples: the same ones each time, at any pace; others with OPENSLOT_LONG."""

from hypothesis import HealthCheck, settings

from tests.support.parts import LONG, how_many


def pytest_configure() -> None:
    """Choose how many, once it is known which part of the tests is run."""
    settings.register_profile(
        "openslot",
        max_examples=how_many(100),
        derandomize=not LONG,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("openslot")
