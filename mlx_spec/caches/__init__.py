"""A model with its cache, as a transaction, whatever kinds of cache the model's layers keep."""

from mlx_spec.caches.cached_model import CachedModel, parameter_bytes

__all__ = ["CachedModel", "parameter_bytes"]
