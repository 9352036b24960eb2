"""What the operations of every kind of resource share."""
