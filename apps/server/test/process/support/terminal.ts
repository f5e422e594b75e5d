import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endWithTestRun, findExecutable } from '@petstore/testing';
import { isRunning, MAIN } from './spawned-server.ts';

export interface TerminalServer extends AsyncDisposable {
  /** The public listener's URL. */
  readonly url: string;
  /** What the terminal showed until requests were served. */
  readonly banner: string;
}

/** Starts the server on a terminal, which script(1) makes, and waits until it serves. */
export async function startOnTerminal(dataFolder: string): Promise<TerminalServer> {
  // `exec`, so that the id of the shell, which is printed first, is the server's.
  const command = `echo "pid $$"; exec '${process.execPath}' '${MAIN}'`;
  const linux = ['-q', '-e', '-c', command, '/dev/null'];
  const program = findExecutable('script');
  if (program === undefined) throw new Error('the tests need script(1), which Debian, Ubuntu and macOS have');
  const script = spawn(program, process.platform === 'linux' ? linux : ['-q', '/dev/null', 'sh', '-c', command], {
    env: { PATH: '', SHELL: '/bin/sh', PORT: '0', DATA_DIR: dataFolder },
    stdio: ['pipe', 'pipe', 'inherit'], // a terminal's input does not end
  });
  const closed = once(script, 'close');
  let shown = '';
  let pid: number | undefined;
  let url: string | undefined;
  for await (const text of script.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    shown += text;
    if (pid === undefined) {
      const [, first] = /^pid (\d+)\r\n/.exec(shown) ?? [];
      if (first === undefined) continue;
      pid = Number(first);
      void closed.then(endWithTestRun(pid));
    }
    [, url] = /listening on (http\S+)\r\n/.exec(shown) ?? [];
    if (url !== undefined) break;
  }
  if (pid === undefined || url === undefined) throw new Error(`the server ended on its terminal:\n${shown}`);
  const serverPid = pid;
  script.stdout.resume();
  return {
    url,
    banner: shown.replaceAll('\r\n', '\n'),
    async [Symbol.asyncDispose]() {
      if (isRunning(serverPid)) process.kill(serverPid, 'SIGTERM');
      await closed;
    },
  };
}
