"""This room holds what the operations of every kind of resource share."""
