"""Vaults as people have them: folders that other programs wrote."""
