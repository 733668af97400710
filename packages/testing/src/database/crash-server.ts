/** A server of one's own that can be ended the way `pg_ctl stop -m immediate` does, in the middle of whatever it writes, and comes back on its port. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded, type Embedded } from '@pawl/embedded'
import { until } from '../virtual-workers.ts'

export class CrashServer {
  #server: Embedded

  private constructor(server: Embedded, private readonly folder: string) {
    this.#server = server
  }

  static async start(): Promise<CrashServer> {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-database-'))
    // Postgres runs as another user where we are root, and has to pass through.
    chmodSync(folder, 0o711)
    return new CrashServer(await startEmbedded({ folder: join(folder, 'postgres') }), folder)
  }

  get url(): string {
    return this.#server.url
  }

  async crash(): Promise<void> {
    const pid = Number(readFileSync(join(this.#server.folder, 'pg', 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
    await this.#server.detach()
    process.kill(pid, 'SIGQUIT')
    await until('the server has ended', () => !isAlive(pid))
    this.#server = await startEmbedded({ folder: this.#server.folder })
  }

  async stop(): Promise<void> {
    await this.#server.release()
    for (const path of [this.#server.folder, this.folder]) rmSync(path, { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).isDirectory()
  } catch {
    return false
  }
}
