# contrib: see contrib/doc/architecture.md
