"""An account and region, and jobs as live handles: launched, attached, waited for, stopped."""
