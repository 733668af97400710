export * from '@pawl/tools/fs'
