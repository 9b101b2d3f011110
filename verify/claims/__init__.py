"""Claims: a folder a paper, a module a topic; every `Claim` at its top level counts."""
