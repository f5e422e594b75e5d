#!/usr/bin/env node
import { requireNode } from '@petstore/runtime/require-node';

requireNode();

const { runProcess } = await import('@petstore/cli/run-process');
// Always production, because there is no embedded database here.
await runProcess({ ...process.env, NODE_ENV: 'production' });
