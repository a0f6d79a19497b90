"""Text as rows: Markdown as it streams, broken to a width; no widget."""
