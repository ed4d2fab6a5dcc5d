"""Retrievers for kgaudit: each implements `kgaudit.documents.Retriever`."""
