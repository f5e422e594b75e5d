import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempDisposableSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Downloads packages of Debian or Ubuntu and unpacks them into a folder that does not exist yet. Takes no root, and changes
 * nothing elsewhere: apt-get keeps its lists and downloads in a folder beside that one, which is then removed.
 *
 * @returns whether they are there; what prevented it has been printed
 */
export function unpackPackages(packages: readonly string[], folder: string): boolean {
  const parent = dirname(folder);
  mkdirSync(parent, { recursive: true });
  using work = mkdtempDisposableSync(join(parent, 'debian-'));
  for (const name of ['lists/partial', 'cache/archives/partial', 'unpacked'])
    mkdirSync(join(work.path, name), { recursive: true });
  const own = [
    `Dir::State::Lists=${work.path}/lists`,
    `Dir::Cache=${work.path}/cache`,
    'Debug::NoLocking=1',
    // Root would pass the download on to a user who cannot write here.
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option]);
  const isDownloaded =
    run('apt-get', ['-q', ...own, 'update'], work.path) &&
    run('apt-get', ['-q', ...own, 'download', ...packages], work.path);
  const files = globSync('*.deb', { cwd: work.path });
  if (!isDownloaded || !files.every((file) => run('dpkg-deb', ['-x', file, 'unpacked'], work.path))) return false;
  // Another run may have been faster.
  if (!existsSync(folder)) renameSync(join(work.path, 'unpacked'), folder);
  return true;
}

/** Installs packages on this machine, which may start services. @returns whether all are installed */
export function installPackages(packages: readonly string[]): boolean {
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  // Another installation may be under way, as on a machine that has just been started.
  const patient = ['-o', 'DPkg::Lock::Timeout=120'];
  const [command = 'apt-get', ...rest] = [...asRoot, 'apt-get', '-q', '-y', ...patient];
  const install = ['install', '--no-install-recommends', ...packages];
  // The slow update is needed only if an install fails without it.
  return (
    run(command, [...rest, ...install]) || (run(command, [...rest, 'update']) && run(command, [...rest, ...install]))
  );
}

function run(command: string, args: readonly string[], folder?: string): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(command, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
}
