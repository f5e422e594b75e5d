import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { RedisLocation } from '../../src/index.ts';

/** Gives the reply to a script call, or nothing yet. */
export type ScriptReply = (call: readonly string[]) => Buffer | undefined;

/**
 * A server that speaks the protocol of Redis, and replies to the limiter's scripts as a test wants: what a real Redis
 * never says, but another program in its place may.
 */
export class FalseRedis implements AsyncDisposable {
  reply: ScriptReply;
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();

  constructor(reply: ScriptReply) {
    this.reply = reply;
  }

  async listen(): Promise<RedisLocation> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo; // a TCP listener
    return { type: 'single', host: '127.0.0.1', port, database: 0, tls: false };
  }

  /** Sends bytes in response to what has had none. */
  send(bytes: Buffer): void {
    for (const socket of this.#sockets) socket.write(bytes);
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}); // the limiter has closed it
    socket.on('close', () => this.#sockets.delete(socket));
    let received = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      for (let command = takeCommand(received); command !== undefined; command = takeCommand(received)) {
        received = received.subarray(command.bytes);
        const isScript = /^eval/i.test(command.words[0] ?? '');
        const reply = isScript ? this.reply(command.words) : Buffer.from('+OK\r\n');
        if (reply !== undefined) socket.write(reply);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** The first command of what has been received, if all of it has: an array of strings, each after its length. */
function takeCommand(received: Buffer): { readonly words: readonly string[]; readonly bytes: number } | undefined {
  let offset = 0;
  const readNumber = (sign: string): number | undefined => {
    const end = received.indexOf('\r\n', offset);
    if (end < 0) return undefined;
    const line = received.toString('latin1', offset, end);
    if (!line.startsWith(sign)) throw new Error(`no command: ${line}`);
    offset = end + 2;
    return Number(line.slice(1));
  };
  const count = readNumber('*');
  const words: string[] = [];
  while (count !== undefined && words.length < count) {
    const length = readNumber('$');
    if (length === undefined || received.length < offset + length + 2) return undefined;
    words.push(received.toString('latin1', offset, offset + length));
    offset += length + 2;
  }
  return count === undefined ? undefined : { words, bytes: offset };
}

/** A string reply of any bytes. */
export const bulk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
