"""What all tests share: hypothesis judges what the code does, not how long a busy machine takes over it."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The other settings are hypothesis' own: where CI is set, the same examples in every run.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
