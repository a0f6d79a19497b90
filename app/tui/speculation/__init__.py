"""Speculation drawn: the panel, the timeline, the inspector of rounds, the banner of the verdict."""
