import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from './servers/server-process.ts';

/** @throws Error where the server ends before it accepts a connection */
export async function waitUntilAccepting(server: ServerProcess, port: number, name: string): Promise<void> {
  while (!(await accepts(port))) {
    if (!server.isRunning()) throw new Error(`${name} did not start`);
    await sleep(5);
  }
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
