# tools: see contrib/doc/architecture.md
