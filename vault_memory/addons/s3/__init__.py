"""A vault's home in a bucket of S3, or of any store with S3's protocol. The only user of `boto3`."""

from vault_memory.lazy import lazy_members

__getattr__ = lazy_members(__name__)
