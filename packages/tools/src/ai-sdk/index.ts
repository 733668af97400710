export { fromAiSdk, type FromAiSdkOptions, type PawlToolContext } from './from-ai-sdk.ts'
export { toAiSdk } from './to-ai-sdk.ts'
