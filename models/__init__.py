"""Which models there are, and how they get into memory. Importing this package does not import MLX."""

from models.errors import ModelError, ModelMissing
from models.loaded import Info, Loaded, load

__all__ = ["Info", "Loaded", "ModelError", "ModelMissing", "load"]
