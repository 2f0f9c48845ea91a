"""One gateway per table: a few domain verbs over the named SQL in `store/sql`."""
