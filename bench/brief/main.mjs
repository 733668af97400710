/**
 * Tokens per turn of a rebuilt context beside a restored transcript, on one item of a hundred turns and on a run of sixty items. No model and no network: the
 * journal is made up, seeded; both sides are counted by the same estimate. `npm run bench:brief [-- --json]`, after `npm run compile`.
 */
import { briefTokens, buildBrief, estimateTokens } from '../../packages/core/dist/index.js'

const print = (text = '') => process.stdout.write(`${text}\n`)
const budget = 30_000
const seeded = (n) => { let state = (n * 2_654_435_761 + 1) >>> 0; return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32 }

/** One call a turn; results of 200 to 6,000 characters, as pages, files and search results are. */
function item(seq, turns, tally) {
  const random = seeded(seq)
  const made = Array.from({ length: turns }, (_, i) => ({ key: `docs.read:${seq}#${i + 1}`, path: `guide/chapter-${i + 1}.md`, text: 'The chapter goes on for a while. '.repeat(Math.ceil((200 + random() * 5_800) / 33)) }))
  return (n) => ({
    system: 'You check a handbook chapter by chapter and write down what is out of date. '.repeat(10),
    run: { id: 'bench', agent: 'reviewer', agentVersion: '1', modelVersion: 'm', promptVersion: 'p', schemaVersion: 1, input: { handbook: 'guide', rules: 'Name the chapter, the sentence and the reason.' } },
    item: { seq, kind: 'work', key: `part-${seq}`, payload: { part: seq } }, tally,
    turns: made.slice(0, n).map(({ key, path }, i) => ({ n: i + 1, text: `I read ${path} next, because the one before points to it.`, calls: [{ name: 'read', input: { path }, key }] })),
    actions: made.slice(0, n).map(({ key, path, text }) => ({ key, name: 'read', status: 'committed', args: { path }, result: { path, text }, error: null })),
    questions: [],
  })
}

/** What a restored transcript sends: everything since the beginning, word for word, each time. */
const restored = (facts) => buildBrief(facts, { tokens: Number.MAX_SAFE_INTEGER })

function measure(turns, factsAt) {
  const rows = Array.from({ length: turns }, (_, i) => {
    const facts = factsAt(i)
    return { turn: i + 1, rebuilt: buildBrief(facts, { tokens: budget }).tokens, transcript: briefTokens(restored(facts), estimateTokens) }
  })
  const sum = (of) => rows.reduce((total, row) => total + row[of], 0)
  return { turns, budget, most: Math.max(...rows.map((row) => row.rebuilt)), mostTranscript: Math.max(...rows.map((row) => row.transcript)), rebuilt: sum('rebuilt'), transcript: sum('transcript'), rows }
}

const tally = (done) => ({ total: 60, done, failed: 0, blocked: 0, cancelled: 0, failures: [] })
const long = [25, 50, 100, 200].map((turns) => measure(turns, item(1, turns, tally(0))))

/** Sixty items of five turns each. As one conversation every turn carries all the turns of all the items before it; rebuilt, an item knows of the others by their count. */
const perItem = 5
const items = Array.from({ length: 60 }, (_, i) => item(i + 1, perItem, tally(i)))
const whole = { actions: [], turns: [] }
const sixty = { turns: 60 * perItem, budget, most: 0, mostTranscript: 0, rebuilt: 0, transcript: 0 }
for (const factsAt of items) {
  for (let n = 0; n < perItem; n++) {
    const facts = factsAt(n)
    const one = buildBrief(facts, { tokens: budget }).tokens
    const turns = [...whole.turns, ...facts.turns].map((turn, i) => ({ ...turn, n: i + 1 }))
    const all = restored({ ...facts, turns, actions: [...whole.actions, ...facts.actions] }).tokens
    sixty.rebuilt += one
    sixty.transcript += all
    sixty.most = Math.max(sixty.most, one)
    sixty.mostTranscript = Math.max(sixty.mostTranscript, all)
  }
  const { actions, turns } = factsAt(perItem)
  whole.actions.push(...actions)
  whole.turns.push(...turns)
}

if (process.argv.includes('--json')) print(JSON.stringify({ long, sixty }))
else {
  const line = (...cells) => print(`| ${cells.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)).join(' | ')} |`)
  line('work', 'turns', 'rebuilt: largest prompt', 'rebuilt: total', 'transcript: largest prompt', 'transcript: total')
  line('---', '---:', '---:', '---:', '---:', '---:')
  for (const each of long) line('one item', each.turns, each.most, each.rebuilt, each.mostTranscript, each.transcript)
  line('sixty items', sixty.turns, sixty.most, sixty.rebuilt, sixty.mostTranscript, sixty.transcript)
  print()
  line('turn of the item of 100', 'rebuilt', 'transcript')
  line('---:', '---:', '---:')
  for (const { turn, rebuilt, transcript } of long[2].rows.filter((row) => row.turn === 1 || row.turn % 10 === 0)) line(turn, rebuilt, transcript)
}
