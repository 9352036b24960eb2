"""What AWS's training images hold: which to choose, what a job adds to it, and what does not go together."""
