import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

/** How long a reading serves all connections: the system lists all of them at once. */
const FRESH_MS = 500;

interface Reading {
  readonly readAtMs: number;
  readonly queues: Promise<ReadonlyMap<string, number>>;
}

let lastReading: Reading | undefined;

/**
 * Bytes that were handed to the system for a connection, and that the other side has not acknowledged. Node reports only
 * when the system takes more, which is after a third of its buffer was freed: that may be megabytes.
 *
 * @param sinceMs by the clock of `performance`: what is older is of no use
 * @returns 0 where the system does not list it (Linux does: see its proc_net_tcp); `undefined` where the last reading is too
 *   old
 */
export async function readSendQueue(socket: Socket, sinceMs: number): Promise<number | undefined> {
  const { localPort, remoteAddress, remotePort } = socket;
  if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return 0;
  const nowMs = performance.now();
  if (lastReading === undefined || nowMs - lastReading.readAtMs > FRESH_MS) {
    lastReading = { readAtMs: nowMs, queues: readQueues() };
  }
  if (lastReading.readAtMs < sinceMs) return undefined;
  const queues = await lastReading.queues;
  return queues.get(`${hexOfPort(localPort)} ${hexOfAddress(remoteAddress)}:${hexOfPort(remotePort)}`) ?? 0;
}

/** `sl  local_address rem_address st tx_queue:rx_queue ...`, each address as `ADDRESS:PORT`, all in hexadecimal. */
const CONNECTION = /^ *\d+: [\dA-F]+:([\dA-F]{4}) ([\dA-F]+:[\dA-F]{4}) [\dA-F]{2} ([\dA-F]{8}):/gm;

async function readQueues(): Promise<ReadonlyMap<string, number>> {
  const queues = new Map<string, number>();
  for (const file of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    const text = await readFile(file, 'latin1').catch(() => ''); // no Linux, or no IPv6
    for (const [, localPort, remote, queue = '0'] of text.matchAll(CONNECTION)) {
      queues.set(`${localPort} ${remote}`, Number.parseInt(queue, 16));
    }
  }
  return queues;
}

const hexOfPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** As Linux writes it: each 32 bits of the address in the byte order of the machine, which is little-endian. */
const hexOfAddress = (address: string): string =>
  Buffer.from(ipaddr.parse(address).toByteArray()).swap32().toString('hex').toUpperCase();
