import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from './released-contract.ts';

const API = new URL('../../../packages/api/', import.meta.url);
const RELEASED = new URL('released/', API);
const RELEASE_NAME = /^openapi-((\d+)\.(\d+)\.(\d+))\.json$/;

/** Where a document is committed. @param name of the file, as `DOCUMENTED_VERSIONS` has it */
export const documentFile = (name: string): string => fileURLToPath(new URL(name, API));

/** The committed documents, one for each version of the interface. */
export const documentFiles = (): readonly string[] =>
  readdirSync(API)
    .filter((name) => /^openapi.*\.json$/.test(name))
    .map(documentFile);

export const readDocument = (file: string): JsonObject => JSON.parse(readFileSync(file, 'utf8'));

/** `info.version` of a document. */
export function versionOf({ info }: JsonObject): string {
  return String((info as JsonObject)['version']); // required by OpenAPI
}

/** Where a document of a version is kept once it is released, for ever. */
export const releaseFile = (version: string): string => fileURLToPath(new URL(`openapi-${version}.json`, RELEASED));

/** The last release of a major version; none before the first. */
export function lastRelease(major: string): string | undefined {
  const releases = readdirSync(RELEASED).flatMap((name) => {
    const [, version = '', ...numbers] = RELEASE_NAME.exec(name) ?? [];
    return numbers[0] === major ? [{ version, minor: Number(numbers[1]), patch: Number(numbers[2]) }] : [];
  });
  releases.sort((one, other) => one.minor - other.minor || one.patch - other.patch);
  const version = releases.at(-1)?.version;
  return version === undefined ? undefined : releaseFile(version);
}
