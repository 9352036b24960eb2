"""This room decides who asks: it holds keys, signatures, session tokens, roles and STS."""
