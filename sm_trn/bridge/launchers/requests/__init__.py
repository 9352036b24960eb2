"""The request that SDK v2 sends for an estimator, as far as its arguments are known: ``request`` is what others ask."""
