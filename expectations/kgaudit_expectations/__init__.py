"""Great Expectations expectations for kgaudit verdict tables."""
