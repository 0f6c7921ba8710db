"""The public class VaultMemory and the JSON contract of its answers."""
