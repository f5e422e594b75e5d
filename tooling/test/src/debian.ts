import { spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempDisposableSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Downloads packages of Debian or Ubuntu and unpacks them into a folder that does not exist yet. This needs no root and
 * changes nothing elsewhere: apt-get keeps its lists and downloads in a folder beside that one, which is then removed.
 *
 * @param prepare works on the unpacked files before they get their name, and says whether they can be used
 * @returns whether the folder is there; what prevented it has been printed
 */
export function unpackPackages(
  packages: readonly string[],
  folder: string,
  prepare: (unpacked: string) => boolean = () => true,
): boolean {
  const parent = dirname(folder);
  mkdirSync(parent, { recursive: true });
  using work = mkdtempDisposableSync(join(parent, 'debian-'));
  const unpacked = join(work.path, 'unpacked');
  mkdirSync(unpacked);
  const run = runIn(work.path, configureApt(work.path));
  const isDownloaded = run('apt-get', ['-q', 'update']) && run('apt-get', ['-q', 'download', ...packages]);
  const files = globSync('*.deb', { cwd: work.path });
  if (!isDownloaded || !files.every((file) => run('dpkg-deb', ['-x', file, 'unpacked']))) return false;
  if (!prepare(unpacked)) return false;
  try {
    renameSync(unpacked, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // else another run was faster
  }
  return true;
}

/** @returns a file of settings by which apt-get stays within a folder, and the machine's other settings hold */
function configureApt(folder: string): string {
  const parts = join(folder, 'parts');
  for (const path of ['lists/partial', 'cache/archives/partial', 'parts'])
    mkdirSync(join(folder, path), { recursive: true });
  for (const file of globSync('/etc/apt/apt.conf.d/*')) symlinkSync(file, join(parts, basename(file)));
  // What the machine does after an update, such as removing the packages that it has kept, is not wanted here.
  const hooks = ['Pre-Invoke', 'Post-Invoke', 'Post-Invoke-Success'].map((name) => `#clear APT::Update::${name};\n`);
  writeFileSync(join(parts, 'zz-no-hooks'), hooks.join(''));
  const settings = {
    'Dir::Etc::Parts': parts,
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'Debug::NoLocking': '1',
    // Root would pass the download on to a user who cannot write here.
    'APT::Sandbox::User': 'root',
    // Without a network the user is not to wait for long.
    'Acquire::Retries': '0',
    'Acquire::http::Timeout': '15',
    'Acquire::https::Timeout': '15',
  };
  const file = join(folder, 'apt.conf');
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name} "${value}";\n`)
      .join(''),
  );
  return file;
}

/** Installs packages on this machine, which may start services. @returns whether all are installed */
export function installPackages(packages: readonly string[]): boolean {
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  // Another installation may be under way, as on a machine that has just been started.
  const patient = ['-o', 'DPkg::Lock::Timeout=120'];
  const [command = 'apt-get', ...rest] = [...asRoot, 'apt-get', '-q', '-y', ...patient];
  const install = ['install', '--no-install-recommends', ...packages];
  const run = runIn(process.cwd());
  // The slow update is needed only if an install fails without it.
  return (
    run(command, [...rest, ...install]) || (run(command, [...rest, 'update']) && run(command, [...rest, ...install]))
  );
}

/** @param aptConfiguration read by apt-get before the machine's own */
const runIn = (folder: string, aptConfiguration?: string) => (command: string, args: readonly string[]) => {
  const own = aptConfiguration === undefined ? {} : { APT_CONFIG: aptConfiguration };
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', ...own };
  return spawnSync(command, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
};
