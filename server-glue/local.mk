# server-glue: see contrib/doc/architecture.md
