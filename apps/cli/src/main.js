#!/usr/bin/env node
// Plain JavaScript: with TypeScript here, each call would load the compiler before the cache of its output is known.
import module from 'node:module';
import { join } from 'node:path';
import { requireNode } from '@petstore/runtime/require-node';

requireNode('npx --yes pnpm@12 -s petstore');

// Compiled code is kept between calls. What is imported below is not yet loaded.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compile'));

const { runProcess } = await import('./run-process.ts');
await runProcess(process.env, join(import.meta.dirname, '../../..'));
