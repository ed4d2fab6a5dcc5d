"""kgaudit finds false triples in knowledge graphs."""
