/**
 * `pnpm release --dry-run` builds what a release ships, into `dist/release`. It publishes nothing: docs/releasing.md says
 * who does, and how. `--for-tests` builds a changed tree as well, builds no image, and keeps what was built from this commit.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './build-folder.ts';
import { buildRelease, isBuiltFrom } from './build-release.ts';

const STEPS = 'docs/releasing.md';
const CHANGELOG = 'docs/guides/changelog.md';
const SERVICE = 'package.json';
const CLIENT = 'packages/client/package.json';

const { values: options } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, 'for-tests': { type: 'boolean' } },
});
const forTests = options['for-tests'] === true;

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trimEnd();

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

if (options['dry-run'] !== true) {
  const steps = sectionOf(STEPS, 'Who does what') ?? '';
  refuse(`Nothing is published from here; "pnpm release --dry-run" builds the files. ${STEPS}:\n\n${steps}`);
}
const changed = git('status', '--porcelain');
if (changed !== '' && !forTests)
  refuse(`A release is built from a commit. Commit these changes, or stash them:\n${changed}`);
const [version, clientVersion] = [SERVICE, CLIENT].map((file): string => JSON.parse(read(file)).version);
if (version === undefined || version !== clientVersion) {
  refuse(`${SERVICE} says ${version} and ${CLIENT} ${clientVersion}. Set "version" to the same in both.`);
}
const notes = sectionOf(CHANGELOG, version);
if (notes === undefined)
  refuse(`${CHANGELOG} has nothing about ${version}. Add "## ${version}" and say below it what changed.`);

const [commit = '', committedAt = ''] = git('log', '-1', '--format=%H %ct').split(' ');
// What is built from a changed tree is of no commit: it must not be taken for what the commit builds.
const release = { version, commit: changed === '' ? commit : `${commit}-changed`, committedAt, notes };
if (forTests && changed === '' && isBuiltFrom(release)) {
  console.log(`dist/release is of commit ${commit}.`);
} else {
  const withImage = !forTests && spawnSync('docker', ['buildx', 'inspect', '--bootstrap']).status === 0;
  await buildRelease(release, { withImage });
  if (!withImage) console.log(`There is no image: ${forTests ? 'the tests need none' : 'no Docker answers here'}.`);
}
