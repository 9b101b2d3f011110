"""The site's pages that are written from the ledger, its records and the source."""
