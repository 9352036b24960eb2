"""Models, endpoints and transform jobs: their operations and servers."""
