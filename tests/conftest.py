"""What every test shares: Hypothesis profiles and a guard on the process-wide thread count."""

import os

import hypothesis
import pytest

_COMMON = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("fast", max_examples=40, derandomize=True, database=None, **_COMMON)
hypothesis.settings.register_profile("thorough", max_examples=400, **_COMMON)
# The default is the same run every time; HYPOTHESIS_PROFILE=thorough searches on, with fresh seeds.
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@pytest.fixture
def keep_num_threads():
    """Give the thread count back as it was, whatever the test sets."""
    imgops = pytest.importorskip("imgops")
    before = imgops.get_num_threads()
    yield before
    imgops.set_num_threads(before)
