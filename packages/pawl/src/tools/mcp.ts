export * from '@pawl/tools/mcp'
