"""What can go wrong between naming a model and having it in memory."""

from __future__ import annotations

from mlx_spec.errors import SpecError


class ModelError(SpecError):
    """A model is there but cannot be used: damaged, of an unknown kind, or unsafe to load."""


class ModelMissing(ModelError):
    """A model is not there: no such file, no such repository, no way to fetch it."""
