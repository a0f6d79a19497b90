"""The engine thread: what is asked of it, and the events by which it tells; no screen."""
