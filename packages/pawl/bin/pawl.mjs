#!/usr/bin/env node
// Committed, so that an install links the command before anything is built.
await import('../dist/main.js')
