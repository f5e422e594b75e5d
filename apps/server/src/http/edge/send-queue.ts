import { readFile } from 'node:fs/promises';
import { isIPv4, type Socket } from 'node:net';

/** How long what was read serves all who ask: the system lists every connection at once. */
const FRESH_MS = 500;

interface Reading {
  readonly readAtMs: number;
  readonly queues: Promise<ReadonlyMap<string, number>>;
}

let lastReading: Reading | undefined;

/**
 * Bytes that were handed to the system for a connection, and that the other side has not acknowledged. Node tells when
 * the system takes more, which is after a third of its buffer was freed: that may be megabytes.
 *
 * @param sinceMs by the clock of `performance`: what is older is of no use
 * @returns 0 where the system does not tell (it does on Linux: see its proc_net_tcp); `undefined` where what is at hand is
 *   too old
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
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(file, 'latin1').catch(() => ''); // no Linux, or no IPv6
    for (const [, localPort, remote, queue = '0'] of text.matchAll(CONNECTION)) {
      queues.set(`${localPort} ${remote}`, Number.parseInt(queue, 16));
    }
  }
  return queues;
}

const hexOfPort = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** As Linux writes it: each 32 bits of the address in the byte order of the machine, which is little-endian. */
function hexOfAddress(address: string): string {
  const bytes = isIPv4(address) ? bytesOfIPv4(address) : bytesOfIPv6(address);
  const words = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.slice(4 * i, 4 * i + 4).reverse());
  return Buffer.from(words.flat()).toString('hex').toUpperCase();
}

const bytesOfIPv4 = (address: string): readonly number[] => address.split('.').map(Number);

function bytesOfIPv6(address: string): readonly number[] {
  const [withoutZone = ''] = address.split('%');
  const [head = '', tail] = withoutZone.split('::');
  const front = groupsOf(head);
  const back = groupsOf(tail ?? '');
  return [...front, ...Array<number>(16 - front.length - back.length).fill(0), ...back];
}

const groupsOf = (text: string): readonly number[] =>
  text === ''
    ? []
    : text.split(':').flatMap((group) => {
        if (isIPv4(group)) return bytesOfIPv4(group);
        const value = Number.parseInt(group, 16);
        return [value >> 8, value & 0xff];
      });
