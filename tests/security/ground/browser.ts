/** A browser's habits over plain HTTP: keeps cookies, sends Origin with writes, follows no redirect by itself. */
export const password = 'correct horse battery'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Sent {
  readonly body?: RequestInit['body']
  readonly headers?: Readonly<Record<string, string>>
}

export class Browser {
  readonly cookies = new Map<string, string>()

  constructor(readonly url: string) {}

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return await this.send('GET', path, { headers })
  }

  async send(method: string, path: string, { body, headers = {} }: Sent = {}): Promise<Reply> {
    const own = { accept: 'text/html', cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '), ...(method === 'GET' ? {} : { origin: new URL(this.url).origin }) }
    // An empty header is one that is not sent: `origin: ''` is a client that names none.
    const given = Object.fromEntries(Object.entries({ ...own, ...headers }).filter(([, value]) => value !== ''))
    const response = await fetch(this.url + path, { method, redirect: 'manual', headers: given, ...(body === undefined || body === null ? {} : { body }) })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return { status: response.status, headers: response.headers, text: await textOf(response) }
  }

  /** The login form, filled in and sent. */
  async login(name: string, withPassword: string = password, next?: string): Promise<Reply> {
    const { text } = await this.get(next === undefined ? '/login' : `/login?next=${encodeURIComponent(next)}`)
    return await this.send('POST', '/login', { body: new URLSearchParams({ ...hiddenFields(text), name, password: withPassword }) })
  }

  /** The session's token for writes, as the board's page is given it. */
  async csrf(): Promise<string> {
    const token = /name="pawl-csrf" content="([^"]+)"/.exec((await this.get('/queues/')).text)?.[1]
    if (token === undefined) throw new Error('the board’s page names no token')
    return token
  }

  /** The session cookie: the one that is not the form's or a notice. */
  session(): [name: string, value: string] {
    const found = [...this.cookies].find(([name]) => isSessionCookie(name))
    if (found === undefined) throw new Error('there is no session cookie')
    return found
  }
}

/** Of a stream of events, which would never end, nothing: that it was begun shows in its status. */
export async function textOf(response: Response): Promise<string> {
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) return await response.text()
  await response.body?.cancel()
  return ''
}

export const isSessionCookie = (name: string): boolean => /^(__Host-)?pawl_\d+$/.test(name)

export const hiddenFields = (page: string): Record<string, string> =>
  Object.fromEntries([...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]))
