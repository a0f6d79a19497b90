"""What the backend's steps cost: measured, kept, and explained by its kernels."""
