"""What a job may ask of machines: one count, the job's or each preference's own."""

from __future__ import annotations

import pytest

import sm_trn as st


def test_a_count_beside_preferences_that_say_their_own_is_refused() -> None:
    own = (st.specs.InstancePreference("ml.g5.xlarge", count=2),)
    assert 2 == st.Compute(preferences=own).hosts
    with pytest.raises(ValueError, match="beside preferences"):
        st.Compute(count=3, preferences=own)
    assert 3 == st.Compute(count=3, preferences=(st.specs.InstancePreference("ml.g5.xlarge"),)).hosts
