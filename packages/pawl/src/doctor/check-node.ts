import { readVersion } from '../cli/version.ts'
import { fail, ok, type Finding } from './finding.ts'

const oldest = [20, 19] as const

/** The Node this command runs on; workers and producers usually run on the same. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const words = `pawl ${readVersion()} on Node ${version}`
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]) ? ok('node', words) : fail('node', `${words}: too old`, `Install Node ${oldest.join('.')} or newer.`)
}
