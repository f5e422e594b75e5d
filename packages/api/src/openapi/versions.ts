/** Describes a version of the interface and its document. */
interface VersionFacts {
  /** The first segment of the paths of its operations. */
  readonly version: string;
  readonly title: string;
  readonly description: string;
  /** `info.version`: the version of the document, whereas `version` is part of every URL. */
  readonly documentVersion: string;
  /** Whether operations take query parameters. v1 has none, and ignores all that are sent. */
  readonly takesQuery: boolean;
  /** Whether 64-bit parameters are strings of digits in its document, like the ids in its responses. */
  readonly idsAreText: boolean;
  /** The path of the interactive reference, below the service's address. */
  readonly referencePath: string;
  /** The groups of operations: all that operations name. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Sections of the navigation (read by Redocly and Scalar). If there are any, they hold every tag. */
  readonly tagGroups?: readonly { readonly name: string; readonly tags: readonly string[] }[];
  /** The committed document, in this package. */
  readonly fileName: string;
}

const V1 = {
  version: 'v1',
  title: 'Petstore Orders',
  description: [
    'The orders of a pet store: list them all, and cancel one.',
    'Every request needs an API key, sent as the bearer token. The headers of every response show how many requests the ' +
      'key has left. Every failure is reported as the same Error object, whose `code` is one of a closed set.',
    'Operations that support GET also support HEAD, with the same headers and no body; OPTIONS on these paths lists ' +
      'its methods in the `Allow` header. 64-bit integers are exact over their whole range: read them with a parser that ' +
      'keeps all digits, because a rounded id may be that of another order.',
  ].join('\n\n'),
  documentVersion: '1.0.0',
  // `Store` and `Pets` are sections of the specification without operations of their own; their operations have other tags.
  tags: [
    { name: 'orders', description: 'List the orders placed in the store, and cancel one.' },
    { name: 'Store', description: 'The store that orders are placed in. It has no operations of its own.' },
    { name: 'Pets', description: 'The pets that orders are about. It has no operations of its own.' },
    { name: 'deprecated', description: 'Operations with a sunset date, given in the headers of every response.' },
  ],
  tagGroups: [
    { name: 'Store', tags: ['Store', 'orders'] },
    { name: 'Pets', tags: ['Pets'] },
    { name: 'Deprecated', tags: ['deprecated'] },
  ],
  fileName: 'openapi.json',
  takesQuery: false,
  idsAreText: false,
  referencePath: '/docs',
} as const satisfies VersionFacts;

const V2 = {
  version: 'v2',
  title: 'Petstore Orders, v2 preview',
  description: [
    'A preview of what comes after v1: orders listed with pagination and filters, single orders with their status, ' +
      'changes of orders, and a key with its rate limit status. Each operation states its stability: beta operations are ' +
      'meant to stay, experimental ones may change or be removed at any time. v1 stays as it is.',
    'Keys, limits, headers and errors are those of v1, and requests to both versions count against the same limits. ' +
      'Unlike v1, v2 rejects undocumented query parameters, and its ids are strings, which no JSON parser rounds.',
  ].join('\n\n'),
  documentVersion: '2.0.0-preview.1',
  tags: [
    {
      name: 'orders',
      description: 'List the orders placed in the store, read one, cancel one, and follow their changes.',
    },
    { name: 'limits', description: 'Get the rate limit status of a key.' },
    { name: 'key', description: 'Get what a key may do, and until when.' },
  ],
  fileName: 'openapi.v2.json',
  takesQuery: true,
  idsAreText: true,
  referencePath: '/docs/v2',
} as const satisfies VersionFacts;

/** Every version of the REST interface. */
export const API_VERSIONS = { v1: V1, v2: V2 } as const;

export type ApiVersion = keyof typeof API_VERSIONS;

export type VersionDescription = VersionFacts & { readonly version: ApiVersion };

/** All versions as a list. */
export const DOCUMENTED_VERSIONS: readonly VersionDescription[] = Object.values(API_VERSIONS);

/** The guide to deprecated operations, below the service's address. */
export const DEPRECATION_GUIDE_PATH = '/docs/versions#what-is-deprecated-now';
