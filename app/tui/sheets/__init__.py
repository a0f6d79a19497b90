"""Lists and questions over the screen; what is chosen there is done elsewhere."""
