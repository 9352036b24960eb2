"""Who asks: keys, signatures, temporary credentials, roles, STS."""
