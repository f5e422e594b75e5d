import { basename, join, resolve } from 'node:path';
import { CHROMIUM_PROGRAMS, findExecutable } from '@petstore/testing/find-executable';
import { installPackages, unpackPackages } from './debian.ts';

/** A program that some tests run and no npm package contains. */
interface NeededProgram {
  readonly name: string;
  /** Any of these is enough: commands on PATH, or files. */
  readonly programs: readonly string[];
  readonly debianPackage: string;
  readonly elsewhere: string;
  /** A folder for the files of the package, which is not installed: it would start a server of its own. */
  readonly unpackedIn?: string;
}

const CHROMIUM: NeededProgram = {
  name: 'Chromium or Chrome',
  programs: CHROMIUM_PROGRAMS,
  debianPackage: 'chromium-headless-shell',
  elsewhere: 'https://www.google.com/chrome/',
};

const PROMETHEUS_FOLDER = resolve(import.meta.dirname, '../../../node_modules/.cache/prometheus');

/** By task. Each needs a Redis server besides. */
const NEEDED: Readonly<Record<string, readonly NeededProgram[]>> = {
  'test:web': [CHROMIUM],
  'test:faults': [
    {
      name: 'PgBouncer',
      programs: ['pgbouncer'],
      debianPackage: 'pgbouncer',
      elsewhere: '"brew install pgbouncer" (macOS)',
    },
  ],
  'test:deploy': [
    { name: 'curl', programs: ['curl'], debianPackage: 'curl', elsewhere: 'https://curl.se/download.html' },
    { name: 'nginx', programs: ['nginx'], debianPackage: 'nginx-light', elsewhere: '"brew install nginx" (macOS)' },
    { name: 'systemd', programs: ['systemd-analyze'], debianPackage: 'systemd', elsewhere: 'a Linux that has it' },
    {
      name: 'Docker Compose',
      programs: ['docker-compose'],
      debianPackage: 'docker-compose',
      elsewhere: 'https://docs.docker.com/compose/install/',
    },
    {
      name: 'redis-cli',
      programs: ['redis-cli'],
      debianPackage: 'redis-tools',
      elsewhere: '"brew install redis" (macOS)',
    },
    { name: 'psql', programs: ['psql'], debianPackage: 'postgresql-client', elsewhere: '"brew install libpq" (macOS)' },
    {
      name: 'Prometheus',
      programs: ['promtool', join(PROMETHEUS_FOLDER, 'usr/bin/promtool')],
      debianPackage: 'prometheus',
      elsewhere: '"brew install prometheus" (macOS)',
      unpackedIn: PROMETHEUS_FOLDER,
    },
  ],
};

/** The PostgreSQL to test with. Each version has a package and a folder of its own on Debian. */
const testedPostgres = (folder: string): NeededProgram => ({
  name: `the PostgreSQL of PETSTORE_TEST_POSTGRES, ${folder}`,
  programs: [`${folder}/postgres`],
  debianPackage: `postgresql-${/\/(\d+)\//.exec(folder)?.[1] ?? '15'}`,
  elsewhere: 'https://www.postgresql.org/download/',
});

const testedRedis = (program: string): NeededProgram => ({
  name: `the server of PETSTORE_TEST_REDIS, ${program}`,
  programs: [program],
  debianPackage: basename(program),
  elsewhere: 'https://valkey.io/download/',
});

export interface NeededProgramsOptions {
  /** Whether what is missing may be installed on this machine, by apt-get. */
  readonly mayInstall: boolean;
  /** The folder of PETSTORE_TEST_POSTGRES. @default the embedded PostgreSQL, which npm brings */
  readonly postgresFolder?: string | undefined;
  /** The program of PETSTORE_TEST_REDIS. @default any that is found */
  readonly redis?: string | undefined;
}

/**
 * Makes sure that the programs are there that a task runs.
 *
 * @param task what is run
 * @returns a message for the user if a program is missing, and may not or could not be installed
 */
export function ensureNeededPrograms(task: string, options: NeededProgramsOptions): string | undefined {
  const { mayInstall, postgresFolder, redis } = options;
  const needed = [
    ...(NEEDED[task] ?? []),
    ...(postgresFolder ? [testedPostgres(postgresFolder)] : []),
    ...(redis ? [testedRedis(redis)] : []),
  ];
  const missing = needed.filter(isMissing);
  if (missing.length === 0) return undefined;
  if (mayInstall && findExecutable('apt-get') !== undefined) {
    console.error(`Installing by apt-get: ${missing.map(({ name }) => name).join(', ')}.`);
    missing.forEach(install);
  }
  const lines = missing
    .filter(isMissing)
    .map(
      ({ name, debianPackage, elsewhere }) =>
        `  ${name}: "sudo apt-get install ${debianPackage}" (Debian), ${elsewhere}`,
    );
  if (lines.length === 0) return undefined;
  const hint = mayInstall ? [] : ['With --install, or if CI is set, the command installs them by apt-get.'];
  return ['These tests need programs that this machine does not have:', ...lines, ...hint].join('\n');
}

const isMissing = ({ programs }: NeededProgram) => findExecutable(...programs) === undefined;

const install = ({ debianPackage, unpackedIn }: NeededProgram) =>
  unpackedIn === undefined ? installPackages([debianPackage]) : unpackPackages([debianPackage], unpackedIn);
