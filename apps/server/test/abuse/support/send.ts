import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import type { OddRequest } from './odd-requests.ts';

/** How a request ended for its client: the status of its response, or how it ended without one. */
export type Outcome = number | 'aborted' | 'lost';

export interface SendOptions {
  readonly port: number;
  /** How many are in progress at a time. */
  readonly concurrency: number;
}

/**
 * Sends all of them. All connections are closed when it resolves.
 *
 * @param outcomes to which the number of each outcome is added
 */
export async function sendAll(
  requests: Iterator<OddRequest>,
  outcomes: Map<Outcome, number>,
  { port, concurrency }: SendOptions,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const sendOneByOne = async () => {
    for (let next = requests.next(); !next.done; next = requests.next()) {
      const outcome = await (next.value.type === 'http'
        ? sendHttp(next.value, port, agent)
        : sendBytes(next.value, port));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, sendOneByOne));
  } finally {
    agent.destroy();
  }
}

function sendHttp(
  { method, path, headers, body, abort }: Extract<OddRequest, { type: 'http' }>,
  port: number,
  agent: Agent,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const outgoing = request({ agent, port, host: '127.0.0.1', method, path, headers }, (response) => {
    response.once('data', () => {
      if (abort === 'response') outgoing.destroy();
    });
    response.on('error', () => {}); // closed all the same
    response.once('close', () => resolve(response.complete ? (response.statusCode ?? 'lost') : 'aborted'));
  });
  outgoing.on('error', () => resolve(abort === undefined ? 'lost' : 'aborted'));
  if (abort === 'body') outgoing.write(body, () => outgoing.destroy());
  else outgoing.end(body);
  return promise;
}

function sendBytes({ text, isWhole }: Extract<OddRequest, { type: 'bytes' }>, port: number): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  let received = '';
  const socket = connect({ port, host: '127.0.0.1' });
  if (isWhole) socket.write(text, 'latin1');
  else socket.end(text, 'latin1');
  socket.setEncoding('latin1').on('data', (part: string) => {
    if (received.length < 20) received += part;
    socket.end();
  });
  socket.on('error', () => {}); // closed all the same
  socket.once('close', () => {
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(received) ?? [];
    resolve(status === undefined ? 'lost' : Number(status));
  });
  return promise;
}
