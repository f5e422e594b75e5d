import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../process/server-process.ts';
import { lockFile } from './data-folder.ts';
import { type FileLock, lock, tryLock } from './file-lock.ts';

/** A database or cache server below a data folder, which several processes may use at once. */
export interface EmbeddedServer<Address> {
  readonly address: Address;
  readonly pid: number;
  /** Ends our use of it. The last one to leave stops it. */
  release(): Promise<void>;
}

/** How to run one kind of server. */
export interface SharedServerControl<Running extends { readonly process: ServerProcess; readonly port: number }> {
  readonly dataFolder: string;
  /** Names the lock files. */
  readonly name: string;
  /** Finds the one that runs, whoever started it: another process that uses it, or one that did not live to stop it. */
  find(): Promise<Running | undefined>;
  start(port?: number): Promise<Running>;
  stop(server: ServerProcess): Promise<void>;
}

export interface UseOptions {
  /**
   * Told when the server ended although nobody stopped it, and was started again on its port; or that it could not be.
   * Without it nothing is done about that.
   */
  readonly onRestart?: (failure?: unknown) => void;
}

const START_LOCK_TIMEOUT_MS = 60_000;
const STOP_LOCK_TIMEOUT_MS = 5_000;
const RESTART_PAUSE_MS = 1_000;

/**
 * Uses a shared server: the one that runs, else one that is started.
 *
 * Two locks make that safe. Whoever starts or stops holds the first one, alone. Everybody who uses the server holds
 * the second one, shared, so that who can have it alone knows to be the last. The system takes a lock back from a
 * process that dies; a server that such a process left behind is found and stopped by the next one.
 */
export async function useSharedServer<Running extends { readonly process: ServerProcess; readonly port: number }>(
  control: SharedServerControl<Running>,
  { onRestart }: UseOptions = {},
): Promise<{ running: Running; release: () => Promise<void> }> {
  const changeLock = lockFile(control.dataFolder, `${control.name}-change`);
  const useLock = lockFile(control.dataFolder, `${control.name}-use`);
  let isReleased = false;

  async function findOrStart(port?: number): Promise<Running> {
    return (await control.find()) ?? (await control.start(port));
  }

  async function begin(): Promise<{ use: FileLock; running: Running }> {
    using _change = await lock(changeLock, 'exclusive', START_LOCK_TIMEOUT_MS);
    const use = await lock(useLock, 'shared', START_LOCK_TIMEOUT_MS);
    try {
      return { use, running: await findOrStart() };
    } catch (error) {
      use.release();
      throw error;
    }
  }

  const { use, running: first } = await begin();
  let running = first;

  async function restartWhenEnded(tell: (failure?: unknown) => void): Promise<void> {
    await running.process.waitForExit();
    while (!isReleased) {
      try {
        using _change = await lock(changeLock, 'exclusive', START_LOCK_TIMEOUT_MS);
        if (isReleased) return;
        running = await findOrStart(first.port); // whoever is connected knows only this port
        tell();
        return restartWhenEnded(tell);
      } catch (error) {
        tell(error);
        await sleep(RESTART_PAUSE_MS, undefined, { ref: false });
      }
    }
  }
  if (onRestart !== undefined) void restartWhenEnded(onRestart);

  /** The last resort of a process that ends without having released: no promise can be waited for any more. */
  function releaseAtExit(): void {
    use.release();
    if (tryLock(useLock, 'exclusive') !== undefined) running.process.signal('SIGINT');
  }
  process.once('exit', releaseAtExit);

  async function release(): Promise<void> {
    if (isReleased) return;
    isReleased = true;
    process.removeListener('exit', releaseAtExit);
    using _change = await lock(changeLock, 'exclusive', STOP_LOCK_TIMEOUT_MS);
    use.release();
    using lastOne = tryLock(useLock, 'exclusive');
    if (lastOne !== undefined) await control.stop(running.process);
  }
  return { running, release };
}
