"""Lists both sides, and notices what a listing does not say."""
