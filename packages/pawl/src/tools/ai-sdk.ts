export * from '@pawl/tools/ai-sdk'
