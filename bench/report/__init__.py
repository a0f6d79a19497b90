"""What people get to see of a sweep: the terminal, and the files of --out."""
