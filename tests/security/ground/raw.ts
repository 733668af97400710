/** Bytes over a socket, for what no client library would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  readonly text: string
  /** Of the first answer; 0: there was none. */
  readonly status: number
  /** Answers on the connection. */
  readonly count: number
  /** Whether the server ended the connection within the deadline. */
  readonly isClosed: boolean
}

export const openSocket = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Writes the text and reads until the server closes, or the deadline is over. */
export async function sendRaw(url: string, text: string | Buffer, deadlineMs = 3_000): Promise<RawAnswer> {
  const socket = await openSocket(url)
  socket.write(text)
  return await readAnswer(socket, deadlineMs)
}

export async function readAnswer(socket: Socket, deadlineMs: number): Promise<RawAnswer> {
  const chunks: Buffer[] = []
  socket.on('data', (bytes: Buffer) => { chunks.push(bytes) })
  const isClosed = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), deadlineMs)
    socket.once('close', () => { clearTimeout(timer); resolve(true) })
    socket.once('end', () => socket.end())
  })
  socket.destroy()
  const answer = Buffer.concat(chunks).toString('latin1')
  return { text: answer, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0), count: answer.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0, isClosed }
}
