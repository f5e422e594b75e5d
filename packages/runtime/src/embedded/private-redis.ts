import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgramsIn, isProgramIn, type ProgramInFolder } from '../process/program-in-folder.ts';
import { adoptServer } from '../process/server-process.ts';
import { findRedisProgram, quote, startRedisOnSocket, stopRedis, waitUntilReady } from '../redis/redis-process.ts';
import type { SocketRedis } from '../settings/redis-target.ts';
import { prepareDataFolder } from './data-folder.ts';
import { findPrivateFolderOwner, preparePrivateFolder } from './private-folder.ts';
import { type EmbeddedServer, type SharedServerAccess, type UseOptions, useSharedServer } from './shared-server.ts';
import { findSocketPath, prepareSocketPath, removeSocketFolder } from './socket-path.ts';

/** See `openPrivateRedis`. */
export async function usePrivateRedis(
  dataFolder: string,
  options: UseOptions,
): Promise<EmbeddedServer<SocketRedis> | undefined> {
  const program = findRedisProgram();
  if (program === undefined) return undefined;
  prepareDataFolder(dataFolder);
  const folder = redisFolder(dataFolder);
  const owner = preparePrivateFolder(folder);
  const logFile = join(dataFolder, 'redis.log');
  const config = {
    pidfile: quote(pidFile(folder)),
    save: '60 1',
    // Where an operator sets maxmemory: what lives longest, used-up days and bans, is forgotten last.
    'maxmemory-policy': 'volatile-ttl',
    // A full disk must not stop the limits.
    'stop-writes-on-bgsave-error': 'no',
  };
  const { location, pid, release } = await useSharedServer(
    {
      ...findPrivateRedis(dataFolder),
      findFormer: async () => (await findFormerRedis(dataFolder).find())?.process,
      async start(lasting?: string) {
        const socketPath = prepareSocketPath(folder, owner, lasting);
        const server = await startRedisOnSocket({ program, folder, logFile, config, socketPath, user: owner });
        return { location: socketPath, process: server };
      },
    },
    options,
  );
  return { address: { type: 'socket', path: location }, pid, release };
}

/** The Redis below a data folder, whichever process started it. */
export const findPrivateRedis = (dataFolder: string): SharedServerAccess<string> => ({
  dataFolder,
  name: 'redis',
  find: () => findRunningRedis(redisFolder(dataFolder)),
  async stop(server) {
    await stopRedis(server);
    removeSocketFolder(redisFolder(dataFolder));
  },
});

/**
 * The Redis of an earlier release. It listens on a port, where any user could, so it is found by /proc alone and not
 * connected to. Once it has been stopped, its data is in its file.
 */
export const findFormerRedis = (dataFolder: string): SharedServerAccess<undefined> => ({
  dataFolder,
  name: 'redis',
  async find() {
    const folder = redisFolder(dataFolder);
    const what = redisIn(folder);
    if (what === undefined || !/^port [1-9]/m.test(readText(join(folder, 'redis.conf')) ?? '')) return undefined;
    const [pid] = findProgramsIn(what);
    return pid === undefined ? undefined : { location: undefined, process: adoptServer(pid) };
  },
  stop: stopRedis,
});

const redisFolder = (dataFolder: string): string => join(dataFolder, 'redis');
const pidFile = (folder: string): string => join(folder, 'redis.pid');

/** `undefined` where the folder is not one that only its owner can enter: its contents are not trusted. */
function redisIn(folder: string): ProgramInFolder | undefined {
  const owner = findPrivateFolderOwner(folder);
  return owner && { program: /(?:redis|valkey)-server/, folder, uid: owner.uid };
}

async function findRunningRedis(folder: string) {
  const what = redisIn(folder);
  const location = findSocketPath(folder);
  const pid = Number(readText(pidFile(folder)) ?? 0);
  if (what === undefined || location === undefined || !Number.isInteger(pid) || pid <= 1) return undefined;
  const server = adoptServer(pid);
  if (!server.isRunning() || !isProgramIn(pid, what)) return undefined;
  return (await waitUntilReady(server, { path: location })) ? { location, process: server } : undefined;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // there is none
  }
}
