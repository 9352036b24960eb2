"""This room holds processing jobs: what is asked of them, and the containers that run them."""
