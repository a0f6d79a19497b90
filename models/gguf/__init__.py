"""GGUF files: a bounded reader, and the way from their tensors and tables to an MLX model."""
