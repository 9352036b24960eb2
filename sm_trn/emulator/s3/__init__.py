"""S3: objects and uploads, their XML, and the files that hold them."""
