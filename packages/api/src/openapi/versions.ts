import type { ApiVersion } from '../rest/rest-contract.ts';

/** What a document says of its version as a whole. */
export interface VersionDescription {
  readonly version: ApiVersion;
  readonly title: string;
  readonly description: string;
  /** `info.version`: which document this is, as opposed to `version`, which stands in every URL. */
  readonly documentVersion: string;
  /** Where the document is committed, in this package. */
  readonly fileName: string;
}

const V1: VersionDescription = {
  version: 'v1',
  title: 'Petstore Orders',
  description:
    'The orders of a pet store: list them all, and cancel one. Every request needs an API key, sent as bearer token; ' +
    'every answer tells in its headers what remains of the limits of the plan.',
  documentVersion: '1.0.0',
  fileName: 'openapi.json',
};

/** Every version that has a document. */
export const DOCUMENTED_VERSIONS: readonly VersionDescription[] = [V1];
