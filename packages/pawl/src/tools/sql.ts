export * from '@pawl/tools/sql'
