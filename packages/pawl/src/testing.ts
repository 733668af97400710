/** For users' own tests; nothing of it belongs into a running system. */
export * from '@pawl/testing'
