import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A response as it came over the wire. */
export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  /** By lower-case name; repeated fields are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawOptions {
  readonly port: number;
  /** Any loopback address, such as 127.0.0.9: each is a client of its own. */
  readonly localAddress?: string;
  /** The methods of the requests, where HEAD is among them. */
  readonly methods?: readonly string[];
  /** How many responses to wait for. @default 1 */
  readonly count?: number;
  /** How long to wait. @default 20000 */
  readonly timeoutMs?: number;
}

/** A connection on which a test writes what it likes. */
export interface RawConnection extends Disposable {
  readonly socket: Socket;
  write(text: string): void;
  /** Waits for the next response. @param method of the request, since HEAD has no body */
  read(method?: string): Promise<RawResponse>;
  /** Everything received that was not read, once the other side has closed. Throws where it reset the connection. */
  readToEnd(): Promise<string>;
}

export async function openRaw({
  port,
  localAddress = '127.0.0.1',
  timeoutMs = 20_000,
}: RawOptions): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  let received = '';
  let hasEnded = false;
  let failure: Error | undefined;
  const progress = new EventEmitter();
  const changed = () => void progress.emit('change');
  const end = () => {
    hasEnded = true;
    changed();
  };
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    received += text;
    changed();
  });
  socket.on('error', (error) => {
    failure = error;
    end();
  });
  socket.on('end', end).on('close', end);
  await once(socket, 'connect');

  async function waitUntil<Result>(find: () => Result | undefined): Promise<Result> {
    const signal = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (hasEnded || signal.aborted) {
        throw new Error(
          `no complete response; ${hasEnded ? 'closed' : 'still open'} after: ${JSON.stringify(received)}`,
        );
      }
      await once(progress, 'change', { signal }).catch(() => {}); // the time is over
    }
  }

  return {
    socket,
    write: (text) => void socket.write(text, 'latin1'),
    async read(method = 'GET') {
      const { response, length } = await waitUntil(() => parseResponse(received, method, hasEnded));
      received = received.slice(length);
      return response;
    },
    async readToEnd() {
      await waitUntil(() => hasEnded || undefined);
      if (failure !== undefined) throw failure;
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** The head of a request, which is all of one without a body. @param lines further header lines */
export const request = (path: string, key?: string, method = 'GET', lines: readonly string[] = []) =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    ...lines,
    '',
    '',
  ].join('\r\n');

/** Sends text as it is. @returns the responses */
export async function sendRaw(text: string, options: RawOptions): Promise<RawResponse[]> {
  using connection = await openRaw(options);
  connection.write(text);
  const responses: RawResponse[] = [];
  for (let i = 0; i < (options.count ?? 1); i++) responses.push(await connection.read(options.methods?.[i]));
  return responses;
}

/** Sends one request as it is. @returns its response */
export async function sendOne(
  text: string,
  { method, ...options }: Pick<RawOptions, 'port'> & { readonly method?: string },
): Promise<RawResponse> {
  using connection = await openRaw(options);
  connection.write(text);
  return await connection.read(method);
}

function parseResponse(
  text: string,
  method: string,
  hasEnded: boolean,
): { response: RawResponse; length: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
  const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(statusLine) ?? [];
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  const start = headEnd + 4;
  const done = (body: string, length: number) => ({
    response: { status: Number(status), reason, headers, body },
    length,
  });
  if (method === 'HEAD' || status === '204' || status === '304' || status.startsWith('1')) return done('', start);
  if (headers['transfer-encoding'] === 'chunked') return parseChunks(text, start, done);
  if (headers['content-length'] === undefined) return hasEnded ? done(text.slice(start), text.length) : undefined;
  const end = start + Number(headers['content-length']);
  return text.length < end ? undefined : done(text.slice(start, end), end);
}

function parseChunks<Done>(
  text: string,
  start: number,
  done: (body: string, length: number) => Done,
): Done | undefined {
  let body = '';
  for (let at = start; ; ) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (text.length < end) return undefined;
    if (size === 0) return done(body, end);
    body += text.slice(lineEnd + 2, end - 2);
    at = end;
  }
}
