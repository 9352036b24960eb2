"""Commands that bring launch code which is there."""
