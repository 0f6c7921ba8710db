"""Carries out the actions of a plan, each under the condition it rests on."""
