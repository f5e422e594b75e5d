import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import type { TestServers } from './test-servers.ts';

const SUPERVISOR = fileURLToPath(new URL('./server-supervisor.ts', import.meta.url));

/**
 * Starts one real PostgreSQL and one real Redis for a run of vitest, and ends them with it.
 *
 * @throws Error when either cannot run; no test is skipped for want of a server
 */
export default async function startTestServers(project: TestProject): Promise<() => Promise<void>> {
  // Detached, so that Ctrl-C does not reach it: it ends when its standard input does, which no death of ours can prevent.
  const supervisor = spawn(process.execPath, [SUPERVISOR], { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const exit = once(supervisor, 'exit');
  let complaint = '';
  supervisor.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const firstLine = once(createInterface(supervisor.stdout), 'line');
  const line = await Promise.race([firstLine.then(([text]) => String(text)), exit.then(() => undefined)]);
  if (line === undefined) throw new Error(`The test servers did not start.\n${complaint.trim()}`);
  const servers: TestServers = JSON.parse(line);
  project.provide('testServers', servers);
  return async () => {
    supervisor.stdin.end();
    await exit;
    if (complaint !== '') console.error(complaint.trim());
  };
}
