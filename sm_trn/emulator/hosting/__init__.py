"""This room holds models, endpoints and transform jobs: their operations, their life and their servers."""
