import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

interface Task {
  readonly task: string;
  readonly package: string;
  readonly directory: string;
  readonly dependencies: readonly string[];
  /** Files whose change runs it anew, relative to `directory`. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** The folders of the packages of this repository that each package uses, directly or not, by its name. */
function readUsedFolders(): ReadonlyMap<string, readonly string[]> {
  const packages = globSync('{apps,packages,tooling}/*/package.json', { cwd: ROOT }).map((file) => {
    const { name, dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
    return { name: String(name), folder: dirname(file), uses: Object.keys({ ...dependencies, ...devDependencies }) };
  });
  const collect = (name: string, found = new Set<string>()): ReadonlySet<string> => {
    for (const used of packages.find((own) => own.name === name)?.uses ?? []) {
      const folder = packages.find((own) => own.name === used)?.folder;
      if (folder !== undefined && !found.has(folder)) collect(used, found.add(folder));
    }
    return found;
  };
  return new Map(packages.map(({ name }) => [name, [...collect(name)]]));
}

test('the tests of a package run anew when a package changes that it uses', () => {
  const plan = execFileSync('turbo', ['run', 'test', '--dry=json'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
  });
  const tests = (JSON.parse(plan).tasks as readonly Task[]).filter(({ task }) => task === 'test'); // turbo's own form
  const usedFolders = readUsedFolders();
  const forgotten = tests.flatMap(({ package: name, directory, dependencies, inputs }) => {
    // Its sources depend on those of all packages that it uses.
    if (dependencies.includes(`${name}#sources`)) return [];
    const files = Object.keys(inputs).map((file) => join(directory, file));
    const isInput = (folder: string) => files.includes(join(folder, 'package.json'));
    const hasSources = (folder: string) => files.some((file) => file.startsWith(join(folder, 'src/')));
    const missing = (usedFolders.get(name) ?? []).filter((folder) => !isInput(folder) || !hasSources(folder));
    return missing.map((folder) => `${name} forgets ${folder}`);
  });
  expect(forgotten).toEqual([]);
  expect(tests.length).toBeGreaterThanOrEqual(13);
});

test('packages are judged by the Node that runs them', () => {
  const workspace = readFileSync(join(import.meta.dirname, '../../../pnpm-workspace.yaml'), 'utf8');
  const [, judging] = /^nodeVersion: (\S+)$/m.exec(workspace) ?? [];
  const [, running] = /^ +node: (\d\S+)$/m.exec(workspace) ?? [];
  expect(judging).toBeDefined();
  expect(judging).toBe(running);
});
