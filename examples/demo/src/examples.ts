import { inventory } from './inventory.ts'
import { mailing } from './mailing.ts'
import { migration } from './migration.ts'
import { research } from './research.ts'
import type { Example } from './world.ts'

export const examples: Readonly<Record<string, Example>> = { migration, mailing, inventory, research }
