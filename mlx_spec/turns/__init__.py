"""What lasts from one turn to the next: what is read, reused and kept."""
