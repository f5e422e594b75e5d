/**
 * `pnpm release --dry-run` builds what a release ships, into `dist/release`. It publishes nothing: docs/releasing.md says
 * who does, and how. `--for-tests` builds a changed tree as well, builds no image, and keeps what was built from this commit.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { runGit } from '@petstore/runtime/git';
import { buildFolder, ROOT } from './build-folder.ts';

const FOLDER = 'dist/release';
/** Holds the commit that the folder was built from. */
const BUILT_FROM = 'dist/release-commit';
const STEPS = 'docs/releasing.md';
const CHANGELOG = 'docs/guides/changelog.md';
const SERVICE = 'package.json';
const CLIENT = 'packages/client/package.json';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const git = (...args: string[]): string => runGit(ROOT, ...args);
const run = (command: string, ...args: string[]): Buffer =>
  execFileSync(command, args, { cwd: ROOT, maxBuffer: 100_000_000, stdio: ['ignore', 'pipe', 'inherit'] });

function refuse(message: string): never {
  console.error(message);
  process.exit(1);
}

/** @returns the text below a heading of the second level; `undefined` if there is none */
function sectionOf(file: string, heading: string): string | undefined {
  const sections = read(file).split(/^## /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  return section?.slice(heading.length).trim() || undefined;
}

function keep(file: string, content: string | Buffer): void {
  writeFileSync(join(ROOT, FOLDER, file), content);
  console.log(`built ${FOLDER}/${file}`);
}

/** The built folder as a tar file that tells nothing of who made it, and when: two builds of a commit are equal. */
function archive(name: string, committedAt: string): Buffer {
  const order = ['--format=gnu', '--sort=name', `--mtime=@${committedAt}`];
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u+w,go-w,a+rX'];
  return run('tar', '-C', 'dist', ...order, ...owner, `--transform=s:^petstore:${name}:`, '-cf', '-', 'petstore');
}

function buildImage(version: string, commit: string): void {
  const file = `petstore-orders-${version}.image.tar`;
  const image = ['-f', 'deploy/Dockerfile', '-t', `petstore-orders:${version}`, '--build-arg', `COMMIT=${commit}`];
  run('docker', 'buildx', 'build', ...image, '--output', `type=docker,dest=${join(FOLDER, file)}`, '.');
  console.log(`built ${FOLDER}/${file}`);
}

const { values: options } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, 'for-tests': { type: 'boolean' } },
});
const forTests = options['for-tests'] === true;
if (options['dry-run'] !== true) {
  const steps = sectionOf(STEPS, 'Who does what') ?? '';
  refuse(`Nothing is published from here; "pnpm release --dry-run" builds the files. ${STEPS}:\n\n${steps}`);
}
const changed = git('status', '--porcelain');
if (changed !== '' && !forTests) {
  refuse(`A release is built from a commit. Commit these changes, or stash them:\n${changed}`);
}
const [version, clientVersion] = [SERVICE, CLIENT].map((file): string => JSON.parse(read(file)).version);
if (version === undefined || version !== clientVersion) {
  refuse(`${SERVICE} says ${version} and ${CLIENT} ${clientVersion}. Set "version" to the same in both.`);
}
const notes = sectionOf(CHANGELOG, version);
if (notes === undefined) {
  refuse(`${CHANGELOG} has nothing about ${version}. Add "## ${version}" and say below it what changed.`);
}
const [commit = '', committedAt = ''] = git('log', '-1', '--format=%H %ct').split(' ');
if (forTests && changed === '' && existsSync(join(ROOT, BUILT_FROM)) && read(BUILT_FROM) === commit) {
  console.log(`${FOLDER} is of commit ${commit}.`);
  process.exit();
}

const name = `petstore-orders-${version}`;
rmSync(join(ROOT, BUILT_FROM), { force: true });
rmSync(join(ROOT, FOLDER), { recursive: true, force: true });
mkdirSync(join(ROOT, FOLDER), { recursive: true });
keep('RELEASE-NOTES.md', `${notes}\n`);
await buildFolder(join(ROOT, 'dist/petstore'));
keep(`${name}.tar.gz`, gzipSync(archive(name, committedAt), { level: 9 }));
// With what is optional, such as OpenTelemetry: the folder holds most of it.
const deployed = ['--filter', '@petstore/server', '--filter', '@petstore/cli'];
keep(`${name}.cdx.json`, run('pnpm', ...deployed, 'sbom', '--sbom-format', 'cyclonedx', '--prod'));
run('pnpm', '--dir', 'packages/client', 'pack', '--pack-destination', join(ROOT, FOLDER));
console.log(`built ${FOLDER}/petstore-client-${version}.tgz`);
const withImage = !forTests && spawnSync('docker', ['buildx', 'inspect', '--bootstrap']).status === 0;
if (withImage) buildImage(version, commit);
else console.log(`There is no image: ${forTests ? 'the tests need none' : 'no Docker answers here'}.`);
const files = globSync('*', { cwd: join(ROOT, FOLDER) }).sort();
const sha256 = (file: string) =>
  createHash('sha256')
    .update(readFileSync(join(ROOT, FOLDER, file)))
    .digest('hex');
keep('SHA256SUMS', files.map((file) => `${sha256(file)}  ${file}\n`).join(''));
// What is built from a changed tree is of no commit.
if (changed === '') writeFileSync(join(ROOT, BUILT_FROM), commit);
