"""Lets programs outside, such as an assistant on a phone, connect with a person's memory by OAuth."""
