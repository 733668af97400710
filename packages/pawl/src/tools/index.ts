/** Every ready-made tool, and other people's tools as Pawl's. Each part alone is `pawl/tools/<part>`, which loads faster. */
export * from '@pawl/tools/ai-sdk'
export * from '@pawl/tools/fs'
export * from '@pawl/tools/git'
export * from '@pawl/tools/http'
export * from '@pawl/tools/mail'
export * from '@pawl/tools/mcp'
export * from '@pawl/tools/sql'
