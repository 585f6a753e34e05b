# test: see contrib/doc/architecture.md
