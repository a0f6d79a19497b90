"""What watches the promise that the output's law stays the target's."""
