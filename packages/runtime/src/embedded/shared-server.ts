import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../process/server-process.ts';
import { RuntimeError } from '../runtime-error.ts';
import { lockFile } from './data-folder.ts';
import { type FileLock, lock, tryLock } from './file-lock.ts';
import { type Guard, spawnGuard } from './guard.ts';

/** A database or cache server below a data folder, which several processes may use at once. */
export interface EmbeddedServer<Address> {
  readonly address: Address;
  readonly pid: number;
  /** Ends our use of it. The last one to leave stops it. */
  release(): Promise<void>;
}

interface RunningServer<Location> {
  readonly process: ServerProcess;
  readonly location: Location;
}

/** How to find and stop one kind of server. */
export interface SharedServerAccess<Location> {
  readonly dataFolder: string;
  readonly name: 'postgres' | 'redis';
  /** Finds the one that runs, whichever process started it. */
  find(): Promise<RunningServer<Location> | undefined>;
  stop(server: ServerProcess): Promise<void>;
}

/** How to run one kind of server. Its location is a port, or the path of a socket. */
export interface SharedServerControl<Location> extends SharedServerAccess<Location> {
  /** Finds one of an earlier release, which cannot be used as it is. */
  findFormer(): Promise<ServerProcess | undefined>;
  /** @param location which it must have. @default a free one */
  start(location?: Location): Promise<RunningServer<Location>>;
}

export interface UseOptions {
  /**
   * Called when the server ended without having been stopped, and was started again at its location; or with the failure
   * where that was not possible. Left out: it is not started again.
   */
  readonly onRestart?: (failure?: unknown) => void;
  /** Breaks off a start that is under way. */
  readonly signal?: AbortSignal;
}

export interface EmbeddedPostgresOptions extends UseOptions {
  /** Whether it is created where there is none. @default true */
  readonly mayCreate?: boolean;
  /** Called before it is created, which takes seconds. */
  readonly onCreate?: () => void;
}

const START_LOCK_TIMEOUT_MS = 60_000;
const STOP_LOCK_TIMEOUT_MS = 5_000;
const RESTART_PAUSE_MS = 1_000;

/**
 * Uses a shared server: the one that runs, else one that is started.
 *
 * Two locks make that safe. A process that starts or stops the server holds the first one, exclusively. Every process
 * that uses it holds the second one, shared, so that the one that gets it exclusively is the last. The system releases
 * the locks of a process that dies, and its guard then stops the server if it is unused. A server that outlived even the
 * guard is found by the next process that wants it.
 */
export async function useSharedServer<Location>(
  control: SharedServerControl<Location>,
  { onRestart }: UseOptions = {},
): Promise<{ location: Location; pid: number; release: () => Promise<void> }> {
  const { changeLock, useLock } = locksOf(control);
  let use: FileLock;
  let guard: Guard;
  let running: RunningServer<Location>;
  let isReleased = false;
  {
    using _change = await lock(changeLock, 'exclusive', START_LOCK_TIMEOUT_MS);
    await endFormer(control, useLock);
    use = await lock(useLock, 'shared', START_LOCK_TIMEOUT_MS);
    guard = spawnGuard(control.dataFolder, control.name);
    try {
      running = (await control.find()) ?? (await control.start());
    } catch (error) {
      use.release();
      await guard.dismiss();
      throw error;
    }
  }
  const {
    location,
    process: { pid },
  } = running;

  async function release(): Promise<void> {
    if (isReleased) return;
    isReleased = true;
    {
      using _change = await lock(changeLock, 'exclusive', STOP_LOCK_TIMEOUT_MS);
      use.release();
      using lastOne = tryLock(useLock, 'exclusive');
      if (lastOne !== undefined) await control.stop(running.process);
    }
    await guard.dismiss();
  }

  async function restartWhenEnded(notify: (failure?: unknown) => void): Promise<void> {
    while (!isReleased) {
      await running.process.waitForExit();
      try {
        using _change = await lock(changeLock, 'exclusive', START_LOCK_TIMEOUT_MS);
        if (isReleased) return;
        running = (await control.find()) ?? (await control.start(location)); // the location that clients know
        notify();
      } catch (error) {
        notify(error);
        await sleep(RESTART_PAUSE_MS, undefined, { ref: false });
      }
    }
  }
  if (onRestart !== undefined) void restartWhenEnded(onRestart);
  return { location, pid, release };
}

/** @throws RuntimeError where an earlier release of the program still uses what it left */
async function endFormer<Location>(
  { dataFolder, findFormer, stop }: SharedServerControl<Location>,
  useLock: string,
): Promise<void> {
  const former = await findFormer();
  if (former === undefined) return;
  using unused = tryLock(useLock, 'exclusive');
  if (unused !== undefined) return stop(former);
  throw new RuntimeError(
    `An earlier release of this program still runs on the data folder ${dataFolder}. Stop it, and start again.`,
  );
}

/** Stops a server whose last user died without stopping it. */
export async function stopIfUnused<Location>(access: SharedServerAccess<Location>): Promise<void> {
  const { changeLock, useLock } = locksOf(access);
  using _change = await lock(changeLock, 'exclusive', START_LOCK_TIMEOUT_MS);
  using lastOne = tryLock(useLock, 'exclusive');
  const running = lastOne && (await access.find());
  if (running !== undefined) await access.stop(running.process);
}

const locksOf = ({ dataFolder, name }: Pick<SharedServerAccess<unknown>, 'dataFolder' | 'name'>) => ({
  changeLock: lockFile(dataFolder, `${name}-change`),
  useLock: lockFile(dataFolder, `${name}-use`),
});
