"""Bytes and seconds in words, as people read them."""

from __future__ import annotations


def in_bytes(nbytes: float) -> str:
    """Such as `1.8 GB`; decimal, as disks and downloads are counted; memory too, to be compared."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if nbytes >= 0.9995 * size:
            return f"{nbytes / size:.1f} {unit}" if nbytes < 99.95 * size else f"{nbytes / size:.0f} {unit}"
    return f"{nbytes:.0f} bytes"


def in_time(seconds: float) -> str:
    """Such as `8 s`, `3 min` or `1 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
