import type { Command } from 'commander'
import { addRunAction } from './run-action.ts'
import { addRunActions } from './run-actions.ts'
import { addRunBrief } from './run-brief.ts'
import { addRunBudget } from './run-budget.ts'
import { addRunExport } from './run-export.ts'
import { addRunItems } from './run-items.ts'
import { addRunList } from './run-list.ts'
import { addRunRepin } from './run-repin.ts'
import { addRunShow } from './run-show.ts'
import { addRunStart } from './run-start.ts'
import { addRunVerbs } from './run-verbs.ts'
import { addRunWatch } from './run-watch.ts'

/** `pawl run …`: everything about one run, or the list of them. */
export function addRun(parent: Command): void {
  const run = parent.command('run').description('start, look at and steer runs')
  addRunStart(run)
  addRunList(run)
  addRunShow(run)
  addRunWatch(run)
  addRunItems(run)
  addRunActions(run)
  addRunAction(run)
  addRunBrief(run)
  addRunVerbs(run)
  addRunBudget(run)
  addRunRepin(run)
  addRunExport(run)
}
