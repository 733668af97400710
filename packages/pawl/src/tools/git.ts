export * from '@pawl/tools/git'
