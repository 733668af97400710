export * from './port.ts'
export { connectQueue } from './connect.ts'
