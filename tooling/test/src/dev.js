// `pnpm dev`: the server, started anew when a file changes that it reads. Plain JavaScript, as the server's main.js is.
import { spawn } from 'node:child_process';
import fs from 'node:fs'; // an old Node has no `globSync`
import { join } from 'node:path';

const { requireNode } = await import('@petstore/runtime/require-node');
requireNode('npx --yes pnpm@12 dev');
const { watchLaunchers } = await import('@petstore/runtime');

const ROOT = join(import.meta.dirname, '../../..');

// Folders, because by itself Node watches only what is imported: no SQL, script of Redis, style or guide.
const watched = fs.globSync(['apps/server/src', 'packages/*/src', 'packages/api/openapi*.json', 'docs'], { cwd: ROOT });
const flags = ['--watch', '--watch-preserve-output', ...watched.map((path) => `--watch-path=${join(ROOT, path)}`)];
const watcher = spawn(process.execPath, [...flags, join(ROOT, 'apps/server/src/main.js')], { stdio: 'inherit' });
watcher.on('exit', (code) => process.exit(code ?? 1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => watcher.kill(signal));
watchLaunchers(process.env, () => watcher.kill());
