"""This room is S3: its operations on objects, uploads in parts, its XML, and the files that hold the objects."""
