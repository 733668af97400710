/** What a script learns from how `pawl` ends. `exitOf.interrupted` is the shell's own number for Ctrl-C. */
export const exitOf = { ok: 0, failed: 1, usage: 2, blocked: 3, interrupted: 130 } as const
