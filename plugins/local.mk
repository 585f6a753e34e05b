# plugins: see contrib/doc/architecture.md
