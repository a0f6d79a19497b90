"""Whether it pays and what holds it back: found in the numbers, said in words."""
