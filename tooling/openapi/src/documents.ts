import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const API = new URL('../../../packages/api/', import.meta.url);

/** The committed documents, one for each version of the interface. */
export const documentFiles = (): readonly string[] =>
  readdirSync(API)
    .filter((name) => /^openapi.*\.json$/.test(name))
    .map((name) => fileURLToPath(new URL(name, API)));
