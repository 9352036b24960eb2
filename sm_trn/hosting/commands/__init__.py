"""Commands for endpoints."""
