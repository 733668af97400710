/** One line of the doctor's report. A warning can wait; a failure means that runs stand still, or that a promise does not hold. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'fail'
  /** Short, stable: scripts look for it. */
  readonly check: string
  readonly sentence: string
  /** What to do; absent when all is well. */
  readonly fix?: string
}

export const ok = (check: string, sentence: string): Finding => ({ level: 'ok', check, sentence })
export const warn = (check: string, sentence: string, fix: string): Finding => ({ level: 'warn', check, sentence, fix })
export const fail = (check: string, sentence: string, fix: string): Finding => ({ level: 'fail', check, sentence, fix })
