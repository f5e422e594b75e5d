/**
 * What a new user does, in the checkout that is the current folder: the two commands of the README and its first requests.
 * Plain JavaScript without dependencies: it runs on the machine's Node, before anything is installed. The last line is the
 * outcome of the test command. Started by `tooling/test/bare`, which hides the machine's programs first.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Installing everything on a slow connection takes most of it. */
const START_TIMEOUT_MS = 300_000;
/** What the service promises for its end after a signal, and npx and pnpm around it. */
const STOP_TIMEOUT_MS = 15_000;

/** @param {string} message */
function fail(message) {
  console.error(`As a new user: ${message}`);
  process.exit(1);
}

/** @param {string[]} args of `npx --yes pnpm@12` */
const pnpm = (args, options) => spawn('npx', ['--yes', 'pnpm@12', ...args], options);

/** @param {import('node:child_process').ChildProcess} server @returns {Promise<string>} the origin that it names when it is ready */
async function originOf(server) {
  const timer = setTimeout(() => fail(`no server after ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
  for await (const line of createInterface({ input: server.stdout })) {
    console.log(line);
    const [, origin] = /listening on (http:\/\/[^\s"]+)/.exec(line) ?? [];
    if (origin === undefined) continue;
    clearTimeout(timer);
    server.stdout.on('data', () => undefined); // a pipe that nobody reads would stop it
    return origin;
  }
  return fail('"npx --yes pnpm@12 start" ended before it listened');
}

/** @param {Record<string, string>} headers */
async function request(url, wantedStatus, { method = 'GET', headers } = {}) {
  const response = await fetch(url, { method, headers });
  const body = await response.text();
  if (response.status !== wantedStatus) fail(`${method} ${url} is ${response.status}, not ${wantedStatus}: ${body}`);
  console.log(`${method} ${url}: ${response.status}, ${body.length} characters`);
  return body;
}

// Any free port: another server may run on this machine.
const server = pnpm(['start'], { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
process.on('exit', () => server.kill()); // if what follows fails
const origin = await originOf(server);
const keys = JSON.parse(readFileSync('.data/demo-keys.json', 'utf8'));
const headers = { authorization: `Bearer ${keys[0].text}` };
const orders = JSON.parse(await request(`${origin}/v1/store/orders`, 200, { headers }));
if (orders.length === 0) fail('the list has no demo orders');
const page = JSON.parse(await request(`${origin}/v2/store/orders?status=pending`, 200, { headers }));
const [pending] = page.orders;
await request(`${origin}/v1/store/orders/${pending.id}`, 204, { method: 'DELETE', headers });
await request(`${origin}/docs`, 200);
server.kill('SIGTERM');
const stopped = await Promise.race([
  once(server, 'exit'),
  new Promise((resolve) => setTimeout(resolve, STOP_TIMEOUT_MS).unref()),
]);
if (stopped === undefined) fail(`the server had not ended ${STOP_TIMEOUT_MS} ms after its signal`);

const [status] = await once(pnpm(['test'], { stdio: 'inherit' }), 'exit');
process.exitCode = status === 0 ? 0 : 1;
