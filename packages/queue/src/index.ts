export * from './port.ts'
export { connectQueue } from './connect.ts'
export { refuseEviction } from './refuse-eviction.ts'
