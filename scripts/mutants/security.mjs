/**
 * Guards taken away one at a time, each with the test of `tests/security` that must go red: what a stranger, a page elsewhere, a tenant, a model or a
 * payload could then do. `npm run mutants -- --only security`.
 */
const dashboard = 'apps/dashboard/src'
const producer = 'apps/producer/src'
const http = 'packages/tools/src/http'
const fs = 'packages/tools/src/fs'
const loop = 'packages/harness/src/loop'

const edit = (file, find, replace) => ({ file, find, replace })
/** One edit, one guard. */
const guard = (name, breaks, [file, find, replace], room, claim) => ({ name, breaks, group: 'security', edits: [edit(file, find, replace)], test: { file: `tests/security/${room}.security.ts`, claim } })

export const securityMutants = [
  // Who may ask.
  guard('a token nobody knows', 'whoever sends any token is the first of those who have one', [`${producer}/tokens.ts`, '  if (found === undefined || authorization === undefined) throw', '  if (found === undefined && tokens[0] !== undefined) return tokens[0]\n  if (found === undefined || authorization === undefined) throw'], 'routes', 'answers 401 to whoever has no token'),
  guard('scopes not looked at', 'a token to read cancels runs', [`${producer}/tokens.ts`, 'if (!caller.scopes.has(scope)) {', 'if (Date.now() < 0) {'], 'routes', 'takes a route’s scope and no other'),
  guard('metrics for everybody', 'a route beside the others asks nobody', [`${producer}/routes/operations.ts`, "    requireScope(authenticate(services.tokens, c.req.header('authorization')), 'read')\n", ''], 'routes', 'answers 401 to whoever has no token'),
  guard('pages without a session', 'whoever reaches the dashboard operates it', [`${dashboard}/auth/guard.ts`, "    if (session !== undefined) {\n      c.set('session', session)", "    if (Date.now() > 0) {\n      c.set('session', session ?? { name: 'nobody', role: 'operate', csrf: 'x' })"], 'routes', 'shows nothing and does nothing without a session'),
  guard('roles not looked at', 'who may look acts', [`${dashboard}/auth/users.ts`, 'ROLES.indexOf(role) >= ROLES.indexOf(needed)', 'ROLES.indexOf(role) >= 0 || role === needed'], 'routes', 'lets who may only read, or only run, do nothing that needs more'),
  // Who can reach it.
  guard('the producer open without tokens', 'everybody in the network starts and cancels runs', [`${producer}/env.ts`, 'if (!isLoopback(host) && tokens.length === 0) {', "if (host === '' && tokens.length === 0) {"], 'network', 'refuses to listen on'),
  guard('the dashboard open without people', 'everybody in the network asks for login links', [`${dashboard}/env.ts`, 'if (!isLoopback(host) && users.length === 0) {', "if (host === '' && users.length === 0) {"], 'network', 'refuses to listen on'),
  guard('the producer on all addresses', 'without tokens the network is let in', [`${producer}/index.ts`, 'await listen(server, env.PAWL_HOST, env.PAWL_PORT)', "await listen(server, '0.0.0.0', env.PAWL_PORT)"], 'network', 'listens on this machine only'),
  guard('the dashboard on all addresses', 'without people the network is let in', [`${dashboard}/index.ts`, 'server.listen(port, host, () => {', "server.listen(port, host === '' ? host : '0.0.0.0', () => {"], 'network', 'listens on this machine only'),
  guard('the worker’s metrics on all addresses', 'nobody asks for a token there', ['apps/worker/src/env.ts', "PAWL_HOST: z.string().default('127.0.0.1'),", "PAWL_HOST: z.string().default('0.0.0.0'),"], 'network', 'listens on this machine only'),
  guard('any name for the dashboard', 'a page elsewhere reaches it by a name that points here', [`${dashboard}/auth/guard.ts`, 'if (isLoopback(listensOn) && host !== known && !isLoopback(nameOf(host))) {', "if (host === '\\0') {"], 'network', 'neither app can be reached by a name'),
  guard('any page for the open producer', 'a page elsewhere starts runs on a laptop', [`${producer}/app.ts`, 'if (services.tokens.length === 0) refuseForeigners(', 'if (services.tokens.length < 0) refuseForeigners('], 'writes', 'takes nothing from a page elsewhere'),
  // What a page elsewhere can make a browser do.
  guard('no Origin check', 'another site’s page posts with a person’s cookies and a token it has learnt', [`${dashboard}/auth/guard.ts`, 'if (isWrite(c.req.method) && !(origin', "if (c.req.method === 'X' && !(origin"], 'writes', 'is refused everywhere, whatever its token'),
  guard('no Origin is a good Origin', 'what is no page of ours passes for one', [`${dashboard}/auth/guard.ts`, '!(origin !== undefined && (origin === place.origin', '!(origin === undefined || (origin === place.origin'], 'writes', 'a program that names no origin'),
  guard('an Origin that only begins like ours', 'a name somebody registered for it passes', [`${dashboard}/auth/guard.ts`, "hostOf(origin) === c.req.header('host')", "hostOf(origin)?.split('.evil')[0]?.split(':')[0] === c.req.header('host')?.split(':')[0]"], 'writes', 'a name that begins like ours'),
  guard('no CSRF token', 'only the Origin header stands between a page and a write', [`${dashboard}/auth/guard.ts`, 'if (isWrite(c.req.method)) {', "if (c.req.method === 'X') {"], 'writes', 'from our own page without the session’s token'),
  guard('any CSRF token', 'one’s own token is good for another’s session', [`${dashboard}/auth/guard.ts`, '!isEqual(given, csrf)', 'given.length !== csrf.length'], 'writes', 'with the token of another session'),
  guard('one session id for all', 'a token for writes is everybody’s', [`${dashboard}/auth/session.ts`, 'id: randomUUID(),', "id: 'x',"], 'writes', 'with the token of another session'),
  guard('a login form without its token', 'another site logs people in as somebody else', [`${dashboard}/auth/login-routes.ts`, "if (!rules.seal.isToken('login', getCookie(c, formCookie) ?? '', fields['csrf']))", "if (fields['csrf'] === undefined)"], 'writes', 'a browser that was never here'),
  {
    name: 'a board that writes', breaks: 'jobs are added, edited and destroyed, and finished work is run again', group: 'security',
    edits: [edit(`${dashboard}/board/board-routes.ts`, "app.get('/*', async (c) => {", "app.all('/*', async (c) => {"), edit(`${dashboard}/board/boards.ts`, "(method === 'get' ? { allow: true }", "(method !== '' ? { allow: true }")],
    test: { file: 'tests/security/writes.security.ts', claim: 'lets even who may operate change no queue' },
  },
  // Sessions.
  guard('cookies for scripts', 'a script in a page takes the session along', [`${dashboard}/auth/session.ts`, 'httpOnly: true', 'httpOnly: false'], 'sessions', 'are for no script and no other site'),
  guard('cookies for other sites', 'a session comes along from everywhere', [`${dashboard}/auth/session.ts`, "sameSite: 'Strict'", "sameSite: 'Lax'"], 'sessions', 'are for no script and no other site'),
  guard('cookies in the clear', 'a session is read off the line', [`${dashboard}/auth/session.ts`, 'secure: rules.isSecure', 'secure: false'], 'sessions', 'are for https only'),
  guard('a cookie without a signature', 'whoever may look makes himself an operator', [`${dashboard}/auth/seal.ts`, '!isEqual(signature, sign(purpose, text))', "signature === ''"], 'sessions', 'cannot be made, changed or moved'),
  guard('sessions for ever', 'a cookie found in a year is a session', [`${dashboard}/auth/session.ts`, 'value.until < Date.now()', 'value.until < 0'], 'sessions', 'ends after its time'),
  guard('a logout that only forgets', 'a cookie somebody kept is good after the logout', [`${dashboard}/auth/session.ts`, ' || rules.ended.has(value.id)', ''], 'sessions', 'ends with the logout'),
  guard('sessions of people who changed', 'a demoted person goes on operating', [`${dashboard}/auth/session.ts`, 'user !== undefined && proof === proofOf(user)', "user !== undefined && proof !== ''"], 'sessions', 'ends with the secret, the password'),
  guard('guesses without end', 'a password is found in an afternoon', [`${dashboard}/auth/attempts.ts`, '    if (found.count >= most) return false\n', ''], 'sessions', 'cannot be guessed more than ten times'),
  guard('a guess counted afterwards', 'of a hundred guesses at once a hundred are judged', [`${dashboard}/auth/attempts.ts`, '    this.#taken.set(address, { ...found, count: found.count + 1 })\n    return true', '    setTimeout(() => this.#taken.set(address, { ...found, count: found.count + 1 }), 60_000).unref()\n    return true'], 'sessions', 'cannot be guessed more than ten times'),
  guard('an unknown name answered at once', 'names of people are found by a clock', [`${dashboard}/auth/password.ts`, "  const found = await derive(password, Buffer.from(salt ?? 'nobody', 'base64url'))", "  if (passwordHash === undefined) return false\n  const found = await derive(password, Buffer.from(salt ?? 'nobody', 'base64url'))"], 'sessions', 'are not what tells an unknown name'),
  guard('a link for many times', 'a link read over a shoulder logs in', [`${dashboard}/auth/one-time-link.ts`, '      this.#token = undefined\n', ''], 'sessions', 'logs in once, whoever comes first'),
  guard('a login that leads anywhere', 'a link to the login ends on another site', [`${dashboard}/place.ts`, '/^\\/(?!\\/)[!-[\\]-~]*$/.test(text)', "text !== ''"], 'sessions', 'is a place of ours, whatever the link'),
  guard('a login that leads to //', 'a link to the login ends on another site that has two slashes before it', [`${dashboard}/place.ts`, '/^\\/(?!\\/)[!-[\\]-~]*$/', '/^\\/[!-[\\]-~]*$/'], 'sessions', 'is a place of ours, whatever the link'),
  // Tenants.
  guard('a run found in any namespace', 'a tenant reads another’s runs', ['packages/ledger/src/reads/get-run.ts', 'select(ledger, and(eq(runs.id, runId), namespace === null ? undefined : eq(runs.namespace, namespace)), 1)', 'select(ledger, eq(runs.id, runId), 1)'], 'namespaces', 'is answered as one that does not exist'),
  guard('a verb in any namespace', 'a tenant cancels another’s runs', ['packages/ledger/src/reads/get-run.ts', '.where(and(eq(runs.id, runId), namespace === null ? undefined : eq(runs.namespace, namespace)))', '.where(eq(runs.id, runId))'], 'namespaces', 'is answered as one that does not exist'),
  guard('lists of all namespaces', 'a tenant reads another’s labels', ['packages/ledger/src/reads/run-filter.ts', '    namespace === null ? undefined : eq(runs.namespace, namespace),', '    undefined,'], 'namespaces', 'is not in any list, count, search or inbox'),
  guard('a clock for foreign runs', 'who measures learns which ids exist', ['packages/client/src/direct-client.ts', '    if (run === undefined) throw unknownRun(runId)\n', '    for (let i = 0; i < 10 && run === undefined; i++) if ((await getRun(ledger, runId, null)) === undefined) i = 10\n    if (run === undefined) throw unknownRun(runId)\n'], 'namespaces', 'by the time the answer takes'),
  // What a browser is told.
  guard('pages in frames', 'a click on another page is a click on ours', [`${dashboard}/auth/guard.ts`, " frame-ancestors 'none';", ''], 'pages', 'forbids foreign scripts'),
  guard('inline scripts', 'a value that gets into markup is run', [`${dashboard}/auth/guard.ts`, "script-src 'self';", "script-src 'self' 'unsafe-inline';"], 'pages', 'forbids foreign scripts'),
  guard('pages in caches', 'the next person at the machine reads on', [`${dashboard}/auth/guard.ts`, "c.header('cache-control', 'no-store')", "c.header('cache-control', 'public')"], 'pages', 'is kept by no cache'),
  guard('answers that are sniffed', 'a value is read as a page', [`${producer}/app.ts`, "    c.header('x-content-type-options', 'nosniff')\n", ''], 'pages', 'says what it is, is kept by no cache'),
  guard('titles as they come', 'a job on the board reads as another', ['packages/queue/src/doorbell.ts', 'visibleText(ring.title)', 'ring.title'], 'pages', 'has no title that reads as another'),
  // What a sender can do.
  guard('JSON of any depth', 'a kilobyte of brackets uses up the stack', ['packages/core/src/json.ts', 'if (++depth > jsonDepth) throw tooDeep(what)', 'depth += 1'], 'bodies', 'that nests 100,000 deep is refused'),
  guard('bodies of any size', 'one request takes all memory', [`${producer}/read-json.ts`, 'if (bytes > bodyLimits.bytes) throw', 'if (bytes < 0) throw'], 'bodies', 'that is too big is refused, announced or not'),
  guard('forms of any size', 'one login takes all memory', [`${dashboard}/app.ts`, 'bodyLimit({ maxSize: mostBytes,', 'bodyLimit({ maxSize: mostBytes * 1_000,'], 'bodies', 'that is too big is refused, announced or not'),
  guard('packed bodies', 'what is unpacked has no limit', [`${producer}/route.ts`, " || (encoding !== undefined && encoding !== 'identity')", ''], 'bodies', 'that is packed is refused unread'),
  guard('bodies of any type', 'a form of another site is taken for JSON', [`${producer}/route.ts`, 'if (given !== type ||', "if (given === '' ||"], 'bodies', 'that is no JSON of ours is refused'),
  guard('names looked up in prototypes', '__proto__ is a file of ours', [`${producer}/routes/docs.ts`, 'Object.hasOwn(assets, name) ? assets[name] : undefined', 'assets[name]'], 'bodies', 'cannot change what every object is'),
  guard('a pattern that chokes', 'one link to the login stops the dashboard for hours', [`${dashboard}/place.ts`, '/^\\/(?!\\/)[!-[\\]-~]*$/', '/^\\/(?!\\/)([!-[\\]-~]+)*$/'], 'bodies', 'is answered in no time'),
  guard('values that say much in few bytes', 'a request of some kilobytes keeps the producer from everybody for minutes', ['packages/client/src/request-values.ts', '    left -= bytes\n', ''], 'bodies', 'is counted over the whole of a request'),
  guard('numbers without end', 'a request of a megabyte keeps the producer from everybody for seconds', ['packages/client/src/request-values.ts', ' && String(part[1]).length > mostDigits', ' && String(part[1]).length < 0'], 'bodies', 'is refused at once, wherever it comes in'),
  {
    name: 'one thing in a million places', breaks: 'a few objects that hold each other keep a worker from its leases', group: 'security',
    edits: [edit('packages/core/src/codec.ts', 'if (measured.repeated > maxBytes) throw', 'if (measured.repeated < 0) throw')], test: { file: 'packages/core/src/codec.test.ts', claim: 'is refused at once where written out it would be too large' },
  },
  guard('headers without end at the producer', 'idle connections are kept for ever', [`${producer}/index.ts`, 'headersTimeout: 10_000', 'headersTimeout: 0'], 'bodies', 'that never ends its headers is cut off'),
  guard('headers without end at the dashboard', 'idle connections are kept for ever', [`${dashboard}/index.ts`, 'requestTimeout: 30_000, headersTimeout: 10_000', 'requestTimeout: 0, headersTimeout: 0'], 'bodies', 'that never ends its headers is cut off'),
  guard('bodies without end at the producer', 'slow senders are kept for ever', [`${producer}/read-json.ts`, 'if (Date.now() > until) throw new PawlError(\'TOO_SLOW\', `The body took', 'if (Date.now() < 0) throw new PawlError(\'TOO_SLOW\', `The body took'], 'bodies', 'that never ends its body is cut off'),
  guard('bodies without end at the dashboard', 'slow senders are kept for ever', [`${dashboard}/index.ts`, 'requestTimeout: 30_000', 'requestTimeout: 0'], 'bodies', 'that never ends its body is cut off'),
  guard('a lenient parser at the producer', 'a proxy and the producer disagree about where a request ends', [`${producer}/index.ts`, 'headersTimeout: 10_000', 'insecureHTTPParser: true, headersTimeout: 10_000'], 'smuggling', 'is refused, the connection is closed, and nothing behind it is read'),
  guard('a lenient parser at the dashboard', 'a proxy and the dashboard disagree about where a request ends', [`${dashboard}/index.ts`, 'headersTimeout: 10_000', 'insecureHTTPParser: true, headersTimeout: 10_000'], 'smuggling', 'is refused, the connection is closed, and nothing behind it is read'),
  // Where values and secrets go.
  guard('values in jobs', 'the queue’s store holds what the ledger guards', ['packages/harness/src/harness.ts', 'board?.log(`${verdict}: attempt', 'board?.log(`${JSON.stringify(attempt.item)} ${verdict}: attempt'], 'canary', 'neither value nor secret is in the queue'),
  guard('credentials in results', 'a receiver’s password is in the ledger and on pages', [`${http}/http-request.ts`, '      return judge(response, options)\n', "      return judge(response, options).then((result) => ({ ...result, headers: { ...result.headers, sent: headers.get('authorization') ?? '' } }))\n"], 'canary', 'no secret is in the database'),
  guard('messages of failures in logs', 'what an agent threw, values and all, is in every log', ['packages/harness/src/run-item.ts', "attempt.parts.log('warn', `item failed:", "attempt.parts.log('warn', `${error.message} item failed:"], 'canary', 'no log has a secret or a value'),
  guard('passwords in refusals', 'a log shows the database’s password', ['packages/ledger/src/connect.ts', 'did not answer (${why})', 'did not answer (${why}, ${this.#options.url})'], 'network', 'is named without its password'),
  guard('variables with their values', 'a log shows the secret that was mistyped', [`${producer}/env.ts`, "?? 'is wrong'}. See .env.example.`", "?? 'is wrong'} (${JSON.stringify(env)}). See .env.example.`"], 'network', 'is named without its password'),
  // What a model's or a payload's URL reaches.
  guard('literal addresses', 'a URL of numbers reaches the inside', [`${http}/address-policy.ts`, '      if (isIP(host) && !isPublicAddress(host)) return callback(refused(host, host), null)\n', ''], 'ssrf', 'is refused at the schema, and again when the call is made'),
  guard('literal addresses at the schema', 'a call is written down that can never be made', [`${http}/http-input.ts`, 'if (isIP(literal) && !isPublicAddress(literal) &&', "if (literal === '' && !isPublicAddress(literal) &&"], 'ssrf', 'is refused at the schema, and again when the call is made'),
  guard('names that resolve inside', 'a name reaches the inside', [`${http}/address-policy.ts`, '    if (inside) return callback(refused(hostname, inside.address), [])\n', ''], 'ssrf', 'that resolves inside ('),
  guard('only the first address', 'a name with two addresses reaches the inside by the second', [`${http}/address-policy.ts`, 'addresses.find(', 'addresses.slice(0, 1).find('], 'ssrf', 'with one address outside and one inside'),
  guard('checked once and connected later', 'a name that changes its answer reaches the inside', [`${http}/address-policy.ts`, '      return onlyPublic(options, callback)', '      return lookupPublic(host, { all: true }, (error) => { if (error) callback(error, null); else open(options, callback) })'], 'ssrf', 'that resolves outside when it is checked'),
  guard('redirects followed', 'an outside server sends the call inside', [`${http}/http-request.ts`, "redirect: 'manual'", "redirect: 'follow'"], 'ssrf', 'is not followed by a'),
  guard('IPv4 in old IPv6 disguises', '::127.0.0.1 counts as public', [`${http}/address-policy.ts`, '  if (parsed instanceof ipaddr.IPv6 && !parsed.match(publicIpv6)) return false\n', ''], 'ssrf', 'is refused at the schema, and again when the call is made'),
  guard('the cloud’s own addresses', 'the wire server answers', [`${http}/address-policy.ts`, " && !insidePublicRanges.has(parsed.toString())", ''], 'ssrf', 'is refused at the schema, and again when the call is made'),
  guard('any port of an allowed host', 'what was allowed for one service is allowed for all of its machine', [`${http}/address-policy.ts`, 'if (allowPrivate.has(`${host}:${port}`))', 'if ([...allowPrivate].some((each) => each.startsWith(`${host}:`)))'], 'ssrf', 'is that host and port'),
  guard('hosts that begin like an allowed one', 'api.example.com.evil.example is allowed', [`${http}/http-input.ts`, ': hostname === allowed', ': hostname.startsWith(allowed)'], 'ssrf', 'is a host as it is written'),
  guard('any header by a call', 'a call brings its own credentials and host', [`${http}/http-input.ts`, 'if (!argumentHeaders.has(name.toLowerCase())) {', "if (name === '') {"], 'ssrf', 'keeps its credentials'),
  // What a model's or a payload's path reaches.
  guard('dots in paths', '../ is a folder like any other', [`${fs}/jail.ts`, "segment !== '' && segment !== '.' && segment !== '..'", "segment !== ''"], 'files', 'is refused before anything is opened'),
  guard('its own records by another spelling', 'a call changes what undo restores', [`${fs}/jail.ts`, 'segments[0]?.toLowerCase() === undoFolder', 'segments[0] === undoFolder'], 'files', 'is refused before anything is opened'),
  guard('links on the way', 'a link in the root leads out of it', [`${fs}/jail.ts`, 'constants.O_DIRECTORY | constants.O_NOFOLLOW', 'constants.O_DIRECTORY'], 'files', 'are followed neither as the file nor on the way'),
  guard('a link as the file', 'a link in the root is what it points to', [`${fs}/jail.ts`, 'constants.O_NOFOLLOW | constants.O_NONBLOCK', 'constants.O_NONBLOCK'], 'files', 'are followed neither as the file nor on the way'),
  guard('folders by their names', 'a folder that is swapped for a link between check and use leads out', [`${fs}/jail.ts`, 'through: `/proc/self/fd/${folder.fd}` }', 'through: named }'], 'files', 'take a folder’s place again and again'),
  guard('devices and pipes', 'a read never ends', [`${fs}/jail.ts`, 'if (file && !(await file.stat()).isFile()) {', 'if (file === null) {'], 'files', 'is neither read nor replaced'),
  guard('files of any size', 'one read takes all memory', [`${fs}/jail.ts`, 'if (size > maxBytes) throw', 'if (size < 0) throw'], 'files', 'is not read past its limit'),
  // What a model that was talked into something can do.
  guard('all of the agent’s tools for the model', 'a model uses what only the agent’s code may', [`${loop}/offer.ts`, 'loop.tools ?? Object.keys(own)', 'Object.keys(own)'], 'injection', 'a tool that the loop was not given is not called'),
  guard('a tool by the name the model says', 'what was not offered is called', [`${loop}/calls-of-turn.ts`, '  const tool = offer.tools.get(name)\n', '  const tool = offer.tools.get(name) ?? (attempt.agent.tools as never)[name]\n'], 'injection', 'a tool that the loop was not given is not called'),
  guard('no approval', 'a payment is sent that a person was to see', ['packages/harness/src/approval.ts', "if (approval === undefined || approval === 'never') return false", "if (approval !== 'nobody') return false"], 'injection', 'what the model says of keys and approvals'),
  // Who is named.
  guard('any token for others', 'whoever has a token acts in another’s name', [`${producer}/tokens.ts`, "if (!caller.scopes.has('delegate')) {", 'if (Date.now() < 0) {'], 'actors', 'a name in the request is not the actor'),
  guard('any name for an actor', 'events hold whatever a request says', [`${producer}/tokens.ts`, 'if (!actorPattern.test(actor)) throw', "if (actor === '') throw"], 'actors', 'is taken at its word only with the scope to delegate'),
  guard('the browser’s word for who asks', 'a page says who cancelled a run', [`${dashboard}/serve/api-routes.ts`, "headers.set('pawl-actor', c.get('session').name)", "headers.set('pawl-actor', c.req.header('pawl-actor') ?? c.get('session').name)"], 'actors', 'a verb is recorded with the person’s name'),
  guard('the dashboard for whoever retries on the board', 'nobody can say who sent a run round again', [`${dashboard}/index.ts`, "headers: { 'pawl-actor': person }", "headers: person === '' ? {} : {}"], 'retries', 'work that failed goes on'),
  guard('nobody named', 'nobody can say who cancelled a run', [`${producer}/route.ts`, 'actor: caller.name', "actor: 'client'"], 'actors', 'leaves an event with the token’s name'),
]
