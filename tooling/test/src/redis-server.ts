import { spawnSync } from 'node:child_process';

const SERVERS = ['redis-server', 'valkey-server'];

type RedisServer = { readonly type: 'found' } | { readonly type: 'missing'; readonly message: string };

const runs = (command: string, args: string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;
const isInstalled = () => SERVERS.some((server) => runs(server, ['--version']));

/** The tests hurt real Redis servers, and no npm package brings one: Debian's does, installed where that is allowed. */
export function ensureRedisServer(): RedisServer {
  if (isInstalled()) return { type: 'found' };
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  if (runs('apt-get', ['--version'])) {
    console.error('No redis-server on this machine: installing it by apt-get.');
    const aptGet = (...args: string[]) => {
      const [command = 'apt-get', ...rest] = [...asRoot, 'apt-get', '-q', '-y', ...args];
      const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
      return spawnSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
    };
    // A list of packages may be there and good: the slow update comes only if the install fails without it.
    const install = () => aptGet('install', '--no-install-recommends', 'redis-server');
    if (install() || (aptGet('update') && install())) {
      if (isInstalled()) return { type: 'found' };
    }
  }
  return {
    type: 'missing',
    message:
      'The tests need a Redis server, and none of redis-server or valkey-server was found on PATH or could be installed.\n' +
      'Install one: "sudo apt-get install redis-server" (Debian, Ubuntu), "brew install redis" (macOS).',
  };
}
