"""The policies that a language model steers, and what they share: fenced prompts, verified quotes, calibrated confidence."""
