"""Judges and chat models."""
