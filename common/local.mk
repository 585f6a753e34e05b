# common: see contrib/doc/architecture.md
