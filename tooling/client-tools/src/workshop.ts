import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readGuideFiles } from './guide.ts';
import { runOrThrow } from './run-command.ts';
import type { Command, Tool } from './tool.ts';

/** So long a version has to be public, here as in the workspace. */
const MINIMUM_AGE_MS = 3 * 24 * 60 * 60 * 1_000;

/** A folder of its own for a tool, with the tool installed. Disposing of it deletes it. */
export interface Workshop extends Disposable {
  readonly folder: string;
}

/** Fetches a tool from the registry; no install script runs. */
export async function openWorkshop({ name, packages, files = {} }: Tool): Promise<Workshop> {
  const folder = mkdtempSync(join(tmpdir(), `petstore-tool-${name.replaceAll(/\W+/g, '-')}-`));
  using stack = new DisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  for (const [file, text] of Object.entries({ ...readGuideFiles(), ...files })) writeFileSync(join(folder, file), text);
  const before = new Date(Date.now() - MINIMUM_AGE_MS).toISOString().slice(0, 10);
  const wanted = Object.entries(packages).map(([packageName, version]) => `${packageName}@${version}`);
  const flags = ['--ignore-scripts', '--save-exact', '--no-audit', '--no-fund', `--before=${before}`];
  await runOrThrow(['npm', 'install', ...flags, ...wanted], { cwd: folder, timeoutMs: 300_000 });
  const owned = stack.move();
  return { folder, [Symbol.dispose]: () => owned.dispose() };
}

/** A command with the program from the folder's own packages. */
export const installed = ({ folder }: Workshop, [program, ...args]: Command): Command => [
  join(folder, 'node_modules/.bin', program),
  ...args,
];
