/** Zod tries at its first use whether it may compile code; the policy forbids that and would report it. First import of all. */
import { z } from 'zod'

z.config({ jitless: true })
