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

/** What turbo would run of tasks, and why. */
function planOf(...names: readonly string[]): readonly Task[] {
  const plan = execFileSync('turbo', ['run', ...names, '--dry=json'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1' },
  });
  return (JSON.parse(plan).tasks as readonly Task[]).filter(({ task }) => names.includes(task)); // turbo's own form
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
  const tests = planOf('test');
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

test('the tests of a package run anew when a document changes that they read', () => {
  const tests = planOf('test');
  const reads = tests.flatMap(({ package: name, directory, inputs }) => {
    const sources = globSync(`${directory}/test/**/*.test.ts`, { cwd: ROOT }).map((file) =>
      readFileSync(join(ROOT, file), 'utf8'),
    );
    const readers = sources.filter((source) => /readFile|readSteps/.test(source)).join('');
    const hashed = new Set(Object.keys(inputs).map((file) => join(directory, file)));
    return Array.from(readers.matchAll(/['/](docs\/[\w/-]+\.md)'/g), ([, document = '']) => ({
      name,
      document,
      isHashed: hashed.has(document),
    }));
  });
  expect(reads.filter(({ isHashed }) => !isHashed)).toEqual([]);
  expect(reads.length).toBeGreaterThanOrEqual(8);
});

test('packages are judged by the Node that runs them', () => {
  const workspace = readFileSync(join(import.meta.dirname, '../../../pnpm-workspace.yaml'), 'utf8');
  const [, judging] = /^nodeVersion: (\S+)$/m.exec(workspace) ?? [];
  const [, running] = /^ +node: (\d\S+)$/m.exec(workspace) ?? [];
  expect(judging).toBeDefined();
  expect(judging).toBe(running);
});

test('the checks of sources run anew when any file changes that they read, and for none in node_modules', () => {
  const isOthers = (path: string) => /(?:^|\/)(?:node_modules|dist|\.turbo)$/.test(path);
  const files = globSync('{*,.*,{apps,packages,tooling,deploy}/**/*}.{css,js,json,jsonc,mjs,ts}', {
    cwd: ROOT,
    exclude: isOthers,
  }).filter((file) => !/(?:^|\/)test(?:-\w+)?-report\.json$/.test(file));
  const checks = planOf('lint:root', 'layers', 'unused', 'typecheck');
  const forgotten = checks.flatMap(({ task, package: name, directory, inputs }) => {
    const hashed = new Set(Object.keys(inputs).map((file) => join(directory, file)));
    const missing = files.filter((file) => file.startsWith(directory && `${directory}/`) && !hashed.has(file));
    return missing.map((file) => `${task} of ${name} forgets ${file}`);
  });
  expect(forgotten).toEqual([]);
  expect(checks.flatMap(({ inputs }) => Object.keys(inputs)).filter((file) => /node_modules/.test(file))).toEqual([]);
  expect(checks.length).toBeGreaterThanOrEqual(18);
  expect(files.length).toBeGreaterThan(600);
});
