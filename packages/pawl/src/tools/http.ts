export * from '@pawl/tools/http'
