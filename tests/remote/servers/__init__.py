"""WebDAV servers for the tests: real ones, a fake Nextcloud, and faults to put in front of either."""
