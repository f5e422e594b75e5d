import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runGit } from '@petstore/runtime/git';
import { createTemporaryFolder } from '@petstore/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../src/build-folder.ts';

const temporary = createTemporaryFolder();
afterAll(() => temporary[Symbol.dispose]());

/** A clone of the last commit as Git for Windows makes it, in which nothing is installed. */
const clone = join(temporary.path, 'clone');
beforeAll(() => {
  runGit(ROOT, '-c', 'core.autocrlf=true', 'clone', '--quiet', '--no-hardlinks', ROOT, clone);
});

test('keeps the line ends of all texts, so that programs can be executed and documents are served', () => {
  const files = runGit(clone, 'ls-files', '-z', '--eol').split('\0');
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => /\bw\/(?:crlf|mixed)\b/.test(file))).toEqual([]);
  expect(readFileSync(join(clone, '.ci/run'), 'utf8').split('\n')[0]).toBe('#!/usr/bin/env bash');
});

test.each([
  ['npm', 'install'],
  ['npm', 'start'],
  ['npm', 'test'],
  ['node', 'apps/server/src/main.js'],
  ['./petstore', '--help'],
])('%s %s says what to type instead', (command, argument) => {
  // Without what pnpm passes to its scripts, as a newcomer has it.
  const environment = Object.entries(process.env).filter(([name]) => !/^(?:npm|pnpm)_/i.test(name));
  const { status, stdout, stderr } = spawnSync(command, [argument], {
    cwd: clone,
    encoding: 'utf8',
    env: Object.fromEntries(environment),
    timeout: 60_000,
  });
  expect(status).not.toBe(0);
  expect(stdout + stderr).toContain('npx --yes pnpm@12');
});
