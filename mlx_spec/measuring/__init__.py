"""What steps cost on this backend and what drafts are worth: measured, kept, and explained by its kernels."""
