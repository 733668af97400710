/** The command tree, and one way through it: parse, run, give back the exit code. Commander neither exits nor prints by itself. */
import { Command } from 'commander'
import { addAnswer } from '../commands/answer.ts'
import { addApprove } from '../commands/approve.ts'
import { addAudit } from '../commands/audit.ts'
import { addChaos } from '../commands/chaos.ts'
import { addCompletion } from '../commands/completion.ts'
import { addDashboard } from '../commands/dashboard.ts'
import { addDemo } from '../commands/demo.ts'
import { addDev } from '../commands/dev.ts'
import { addDoctor } from '../commands/doctor.ts'
import { addInbox } from '../commands/inbox.ts'
import { addInit } from '../commands/init.ts'
import { addLedger } from '../commands/ledger.ts'
import { addMcp } from '../commands/mcp.ts'
import { addMigrate } from '../commands/migrate.ts'
import { addProducer } from '../commands/producer.ts'
import { addPrune } from '../commands/prune.ts'
import { addRun } from '../commands/run.ts'
import { addSettle } from '../commands/settle.ts'
import { addTools } from '../commands/tools.ts'
import { addWorker } from '../commands/worker.ts'
import { closeEmbedded } from './embedded-place.ts'
import { reportFailure } from './fail.ts'
import { asksForJson, codeOf } from './leaf.ts'
import { plainLines } from './plain.ts'
import { readVersion } from './version.ts'

export async function runCommand(words: readonly string[]): Promise<number> {
  const json = asksForJson(words)
  const program = buildProgram({ json })
  try {
    await program.parseAsync([...words], { from: 'user' })
    return codeOf(program)
  } catch (error) {
    return reportFailure(error, { json, verbose: words.includes('--verbose') })
  } finally {
    await closeEmbedded()
  }
}

/** @param how.json what commander refuses is said by `reportFailure`, as JSON, and not by commander. */
export function buildProgram(how: { readonly json: boolean } = { json: false }): Command {
  const program = commandTree(how)
  addCompletion(program, () => commandTree(how))
  return program
}

function commandTree({ json }: { readonly json: boolean }): Command {
  const program = new Command('pawl')
    .description('Resumable agent runs: a restart skips what is committed, settles what is in flight, continues the rest.')
    .version(readVersion(), '--version')
    .exitOverride()
    .configureOutput(json ? { writeErr: () => undefined } : { outputError: (text, write) => { write(`${plainLines(text)}\n`) } })
    .helpCommand(false)
    .showHelpAfterError('(--help shows how it is used)')
    .addHelpText('after', '\nExit codes: 0 ok · 1 failed · 2 used wrongly · 3 only items that wait for a person are left · 130 stopped by Ctrl-C')
  program.commandsGroup('Try it')
  addDemo(program)
  addInit(program)
  addDev(program)
  program.commandsGroup('Run it')
  addWorker(program)
  addProducer(program)
  addDashboard(program)
  addMigrate(program)
  program.commandsGroup('Work with runs')
  addRun(program)
  addInbox(program)
  addSettle(program)
  addAnswer(program)
  addApprove(program)
  addMcp(program)
  program.commandsGroup('Look closer')
  addTools(program)
  addAudit(program)
  addChaos(program)
  addDoctor(program)
  addLedger(program)
  addPrune(program)
  return program
}
