import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findExecutable } from '@petstore/runtime';
import { endWithTestRun } from '@petstore/testing';
import { MAIN } from './spawned-server.ts';

/**
 * Starts the server on a terminal, which script(1) makes, waits until it serves, and stops it.
 *
 * @returns what the terminal showed
 */
export async function readBannerOnTerminal(dataFolder: string): Promise<string> {
  // `exec`, so that the id of the shell, which is printed first, is the server's.
  const command = `echo "pid $$"; exec '${process.execPath}' '${MAIN}'`;
  const linux = ['-q', '-e', '-c', command, '/dev/null'];
  const program = findExecutable('script');
  if (program === undefined) throw new Error('the tests need script(1), which Debian, Ubuntu and macOS have');
  const script = spawn(program, process.platform === 'linux' ? linux : ['-q', '/dev/null', 'sh', '-c', command], {
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', PORT: '0', DATA_DIR: dataFolder },
    stdio: ['pipe', 'pipe', 'inherit'], // a terminal's input does not end
  });
  const closed = once(script, 'close');
  let seen = '';
  let isStopped = false;
  for await (const text of script.stdout.setEncoding('utf8')) {
    seen += text;
    const [, pid] = /^pid (\d+)\r\n/.exec(seen) ?? [];
    if (isStopped || pid === undefined || !seen.includes('listening on http')) continue;
    isStopped = true;
    void closed.then(endWithTestRun(Number(pid)));
    process.kill(Number(pid), 'SIGTERM');
  }
  await closed;
  return seen.replaceAll('\r\n', '\n');
}
