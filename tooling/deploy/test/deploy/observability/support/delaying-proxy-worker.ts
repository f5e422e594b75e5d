import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

let delayMs = 0;
parentPort?.on('message', (ms: number) => {
  delayMs = ms;
});

const server = createServer((client) => {
  const upstream = connect(Number(workerData), '127.0.0.1');
  for (const socket of [client, upstream]) socket.setNoDelay().on('error', () => {});
  client.on('data', (bytes) => upstream.write(bytes));
  upstream.on('data', (bytes) => setTimeout(() => client.write(bytes), delayMs));
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => setTimeout(() => client.destroy(), delayMs));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
parentPort?.postMessage((server.address() as AddressInfo).port); // a TCP listener
