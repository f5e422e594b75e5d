import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runGit } from '@petstore/runtime/git';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';
import { RELEASE_FOLDER, RELEASE_NAME, useBuiltFolder } from '../support/built-folder.ts';

const built = useBuiltFolder();
const temporary = createTemporaryFolder();
afterAll(() => temporary[Symbol.dispose]());

const git = (folder: string, ...args: string[]) =>
  runGit(folder, '-c', 'user.name=test', '-c', 'user.email=test@petstore.example', ...args);
const pnpm = (folder: string, ...args: string[]) => spawnSync('pnpm', args, { cwd: folder, encoding: 'utf8' });

/** Two checkouts of what the files are now, at paths of different lengths. The image is built where Docker is, so not here. */
const [first, second] = ['a', 'another/path'].map((name) => join(temporary.path, name)) as [string, string];
beforeAll(() => {
  git(ROOT, 'clone', '--quiet', '--no-hardlinks', ROOT, first);
  const files = git(ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0');
  for (const file of files.filter((file) => file !== '')) cpSync(join(ROOT, file), join(first, file));
  git(first, 'add', '--all');
  git(first, 'commit', '--quiet', '--allow-empty', '--message', 'Release');
  mkdirSync(dirname(second));
  git(ROOT, 'clone', '--quiet', first, second);
  for (const folder of [first, second]) {
    const installed = pnpm(folder, 'install', '--frozen-lockfile', '--prefer-offline');
    expect(installed.status, installed.stdout + installed.stderr).toBe(0);
  }
});

const release = (folder: string, ...args: string[]) =>
  pnpm(folder, '--dir', 'tooling/deploy', 'exec', 'node', 'src/release.ts', ...args);

test('a release is these files, and its checksums verify', () => {
  const files = [
    `${RELEASE_NAME}.cdx.json`,
    `${RELEASE_NAME}.tar.gz`,
    RELEASE_NAME.replace('orders', 'client').concat('.tgz'),
  ];
  const text = readFileSync(join(RELEASE_FOLDER, 'SHA256SUMS'), 'utf8');
  const listed = Array.from(text.matchAll(/^[0-9a-f]{64} {2}(.+)$/gm), ([, file]) => file);
  expect(listed).toEqual(expect.arrayContaining(['RELEASE-NOTES.md', ...files]));
  expect([...listed, 'SHA256SUMS'].sort()).toEqual(readdirSync(RELEASE_FOLDER).sort());
  execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: RELEASE_FOLDER });
});

test("its notes are the changelog's section", () => {
  const notes = readFileSync(join(RELEASE_FOLDER, 'RELEASE-NOTES.md'), 'utf8');
  expect(notes).toMatch(/^The first release\.\n/);
  const changelog = readFileSync(join(ROOT, 'docs/guides/changelog.md'), 'utf8');
  expect(`${changelog}\n## `).toContain(`\n## 1.0.0\n\n${notes}\n## `);
});

test('its list of parts names all that the folder holds, and nothing that only tests or builds use', () => {
  const { bomFormat, components } = JSON.parse(readFileSync(join(RELEASE_FOLDER, `${RELEASE_NAME}.cdx.json`), 'utf8'));
  expect(bomFormat).toBe('CycloneDX');
  const parts: readonly string[] = components.map(
    ({ group, name, version }: { group?: string; name: string; version: string }) =>
      `${group === undefined ? '' : `${group}/`}${name} ${version}`,
  );
  const notices = readFileSync(built('THIRD-PARTY-NOTICES.txt'), 'utf8').matchAll(/^={80}\n(\S+ \S+): /gm);
  const held = Array.from(notices, ([, part]) => part);
  expect(held.length).toBeGreaterThan(50);
  expect(parts).toEqual(expect.arrayContaining(held));
  expect(parts.join()).not.toMatch(/vitest|typescript|biome/);
});

test('is the same for the same commit, byte for byte, but for the list of parts, which says when it was made', () => {
  const [one, other] = [first, second].map((folder) => {
    const { status, stdout, stderr } = release(folder, '--dry-run', '--for-tests');
    expect(status, stdout + stderr).toBe(0);
    return readFileSync(join(folder, 'dist/release/SHA256SUMS'), 'utf8').replace(/^.*\.cdx\.json\n/m, '');
  });
  expect(one).toBe(other);
  expect(release(first, '--dry-run', '--for-tests').stdout).toMatch(/^dist\/release is of commit [0-9a-f]{40}\.\n$/);
});

test('is refused for a changed tree, two versions, and a version without notes, with what would be right', () => {
  const refusal = (...args: string[]) => {
    const { status, stderr } = release(second, ...args);
    expect(status).toBe(1);
    return stderr;
  };
  expect(refusal()).toMatch(/^Nothing is published from here;.*\n1\. A maintainer.*\n4\. From a clean clone/s);
  appendFileSync(join(second, 'README.md'), 'More.\n');
  expect(refusal('--dry-run')).toBe(
    'A release is built from a commit. Commit these changes, or stash them:\n M README.md\n',
  );
  const raise = (file: string) => {
    const text = readFileSync(join(second, file), 'utf8');
    writeFileSync(join(second, file), text.replace('"version": "1.0.0"', '"version": "1.0.1"'));
    git(second, 'commit', '--quiet', '--all', '--message', 'Raise the version');
  };
  raise('package.json');
  expect(refusal('--dry-run')).toBe(
    'package.json says 1.0.1 and packages/client/package.json 1.0.0. Set "version" to the same in both.\n',
  );
  raise('packages/client/package.json');
  expect(refusal('--dry-run')).toBe(
    'docs/guides/changelog.md has nothing about 1.0.1. Add "## 1.0.1" and say below it what changed.\n',
  );
});
