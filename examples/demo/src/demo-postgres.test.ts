import { describe } from 'vitest'
import { killedAndResumed } from './demo.testsuite.ts'

describe('on the postgres queue', () => killedAndResumed(['mailing', 'inventory', 'research'], undefined))
