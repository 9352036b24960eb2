"""What calls and attributes give, of Python, boto3 and the SDK, as far as the code alone says it: ``library`` is what others ask."""
