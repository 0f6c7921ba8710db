"""Programs outside that a person lets in by OAuth."""
