/** The browser for what looks at pages: `PAWL_CHROMIUM`, or one on the PATH. Playwright's own is not downloaded. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** Its path. Throws where there is none. */
export function findChromium(env = process.env) {
  if (env.PAWL_CHROMIUM) return env.PAWL_CHROMIUM
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    for (const name of names) if (isProgram(join(folder, name))) return join(folder, name)
  }
  throw new Error(`No browser was found: install Chromium (apt-get install chromium), or set PAWL_CHROMIUM to one. Looked for ${names.join(', ')} on the PATH.`)
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
