"""What a person can set, and where it is read from; what comes of it is not here."""
