import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

const API = new URL('../../../packages/api/', import.meta.url);
const RELEASED = new URL('released/', API);
const RELEASE_NAME = /^openapi-((\d+)\.(\d+)\.(\d+))\.json$/;

/** The path of a committed document. @param name the name of the file, as in `DOCUMENTED_VERSIONS` */
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

/** The permanent path of a released document of a version. */
export const releaseFile = (version: string): string => fileURLToPath(new URL(`openapi-${version}.json`, RELEASED));

/** The last release of a major version; `undefined` before the first. */
export function lastRelease(major: string): string | undefined {
  const releases = readdirSync(RELEASED).flatMap((name) => {
    const [, version = '', ...numbers] = RELEASE_NAME.exec(name) ?? [];
    return numbers[0] === major ? [{ version, minor: Number(numbers[1]), patch: Number(numbers[2]) }] : [];
  });
  releases.sort((one, other) => one.minor - other.minor || one.patch - other.patch);
  const version = releases.at(-1)?.version;
  return version === undefined ? undefined : releaseFile(version);
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The target of a reference; any other value unchanged. */
export function follow(value: Json, document: JsonObject): Json {
  if (!isObject(value) || typeof value['$ref'] !== 'string') return value;
  const names = value['$ref'].split('/').slice(1);
  return names.reduce<Json>((parent, name) => (isObject(parent) ? (parent[name] ?? null) : null), document);
}
