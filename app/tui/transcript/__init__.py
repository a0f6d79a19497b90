"""The chat as one widget: its entries, where each stands, and what is in view; no sheet, no prompt."""
