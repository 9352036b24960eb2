"""Launch code that people have, recorded and written anew: programs of SageMaker SDK v2 and v3 become job files and v3 programs.

SDK v2 ends on 2027-07-06, and what this package does for it ends with it.
"""
