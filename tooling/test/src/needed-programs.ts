import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempDisposableSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';

/** A program that the tests run and no npm package contains. */
interface NeededProgram {
  readonly name: string;
  /** Any of these is enough: commands on PATH, or files. */
  readonly programs: readonly string[];
  readonly debianPackage: string;
  readonly elsewhere: string;
  /** A folder for the files of the package, which is not installed: it would start a server of its own. */
  readonly unpackedIn?: string;
}

const NEEDED: readonly NeededProgram[] = [
  {
    name: 'a Redis server',
    programs: ['redis-server', 'valkey-server'],
    debianPackage: 'redis-server',
    elsewhere: '"brew install redis" (macOS)',
  },
  {
    name: 'Chromium or Chrome',
    programs: [
      'chromium-headless-shell',
      'chromium',
      'chromium-browser',
      'google-chrome-stable',
      'google-chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    ],
    debianPackage: 'chromium-headless-shell',
    elsewhere: 'https://www.google.com/chrome/',
  },
  {
    name: 'curl',
    programs: ['curl'],
    debianPackage: 'curl',
    elsewhere: 'https://curl.se/download.html',
  },
  {
    name: 'PgBouncer',
    programs: ['pgbouncer'],
    debianPackage: 'pgbouncer',
    elsewhere: '"brew install pgbouncer" (macOS)',
  },
];

/** The PostgreSQL to test with, where one is named. Each version has a package and a folder of its own on Debian. */
const testedPostgres = (folder: string): NeededProgram => ({
  name: `the PostgreSQL of PETSTORE_TEST_POSTGRES, ${folder}`,
  programs: [`${folder}/postgres`],
  debianPackage: `postgresql-${/\/(\d+)\//.exec(folder)?.[1] ?? '15'}`,
  elsewhere: 'https://www.postgresql.org/download/',
});

const PROMETHEUS_FOLDER = resolve(import.meta.dirname, '../../../node_modules/.cache/prometheus');

/** For `test:deploy` alone. */
const NEEDED_TO_DEPLOY: readonly NeededProgram[] = [
  { name: 'nginx', programs: ['nginx'], debianPackage: 'nginx-light', elsewhere: '"brew install nginx" (macOS)' },
  { name: 'HAProxy', programs: ['haproxy'], debianPackage: 'haproxy', elsewhere: '"brew install haproxy" (macOS)' },
  { name: 'systemd', programs: ['systemd-analyze'], debianPackage: 'systemd', elsewhere: 'a Linux that has it' },
  {
    name: 'Docker Compose',
    programs: ['docker-compose'],
    debianPackage: 'docker-compose',
    elsewhere: 'https://docs.docker.com/compose/install/',
  },
  { name: 'psql', programs: ['psql'], debianPackage: 'postgresql-client', elsewhere: '"brew install libpq" (macOS)' },
  {
    name: 'Prometheus',
    programs: ['promtool', join(PROMETHEUS_FOLDER, 'usr/bin/promtool')],
    debianPackage: 'prometheus',
    elsewhere: '"brew install prometheus" (macOS)',
    unpackedIn: PROMETHEUS_FOLDER,
  },
];

/** For `test:faults` alone. */
const NEEDED_FOR_FAULTS: readonly NeededProgram[] = [
  {
    name: 'Pgpool-II',
    programs: ['pgpool'],
    debianPackage: 'pgpool2',
    elsewhere: 'https://www.pgpool.net/',
  },
];

const POSTGRES_FOLDER = process.env['PETSTORE_TEST_POSTGRES'];

const neededBy = (task: string): readonly NeededProgram[] => [
  ...NEEDED,
  ...(POSTGRES_FOLDER ? [testedPostgres(POSTGRES_FOLDER)] : []),
  ...(task === 'test:deploy' ? NEEDED_TO_DEPLOY : []),
  ...(task === 'test:faults' ? NEEDED_FOR_FAULTS : []),
];

/**
 * Makes sure that the programs are there that the tests run. Missing ones are installed from Debian's packages, where that
 * is possible.
 *
 * @param task what is run
 * @param folders where to look for programs, apt-get among them. @default those of PATH, and the usual ones
 * @returns a message for the user where a program is still missing
 */
export function ensureNeededPrograms(task: string, folders: readonly string[] = FOLDERS): string | undefined {
  const findMissing = () =>
    neededBy(task).filter(({ programs }) => !programs.some((program) => isIn(folders, program)));
  const missing = findMissing();
  if (missing.length === 0) return undefined;
  if (isIn(folders, 'apt-get')) {
    console.error(`Installing by apt-get: ${missing.map(({ name }) => name).join(', ')}.`);
    // The slow update is needed only where an install fails without it.
    if (!missing.every(install) && aptGet('update')) missing.forEach(install);
  }
  const messages = findMissing().map(
    ({ name, programs, debianPackage, elsewhere }) =>
      `The tests need ${name}, and none of ${commandsOf(programs).join(', ')} is on PATH or could be installed.\n` +
      `Install one: "sudo apt-get install ${debianPackage}" (Debian), ${elsewhere}.`,
  );
  return messages.length === 0 ? undefined : messages.join('\n');
}

/** As people call them; a program that has only a path by that. */
function commandsOf(programs: readonly string[]): readonly string[] {
  const commands = programs.filter((program) => !program.includes('/'));
  return commands.length === 0 ? programs : commands;
}

const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/sbin', '/usr/local/bin'];

const isIn = (folders: readonly string[], program: string) =>
  program.includes('/') ? existsSync(program) : folders.some((folder) => existsSync(join(folder, program)));

const install = ({ debianPackage, unpackedIn }: NeededProgram) =>
  unpackedIn === undefined
    ? aptGet('install', '--no-install-recommends', debianPackage)
    : unpack(debianPackage, unpackedIn);

/** Needs no root. */
function unpack(debianPackage: string, folder: string): boolean {
  using downloads = mkdtempDisposableSync(join(tmpdir(), 'debian-package-'));
  const options: SpawnSyncOptions = { cwd: downloads.path, stdio: ['ignore', 'ignore', 'inherit'] };
  // Root would pass the download on to a user who cannot write here.
  const download = ['-q', '-o', 'APT::Sandbox::User=root', 'download', debianPackage];
  if (spawnSync('apt-get', download, options).status !== 0) return false;
  mkdirSync(folder, { recursive: true });
  return readdirSync(downloads.path).every((file) => spawnSync('dpkg-deb', ['-x', file, folder], options).status === 0);
}

function aptGet(...args: string[]): boolean {
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  // Another installation may be under way, as on a machine that has just been started.
  const patient = ['-o', 'DPkg::Lock::Timeout=120'];
  const [command = 'apt-get', ...rest] = [...asRoot, 'apt-get', '-q', '-y', ...patient, ...args];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
}
