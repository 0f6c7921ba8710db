"""A vault's home in a bucket of S3, or of any store with S3's protocol. The only user of `boto3`."""
