"""What many jobs cost together, as a value that shows itself."""
