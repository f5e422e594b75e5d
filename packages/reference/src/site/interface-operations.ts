import { openApiDocument } from '@petstore/api';

/** What the pages tell of an operation of the interface. */
export interface InterfaceOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  /** The codes that the document gives an example of. */
  readonly errorCodes: ReadonlySet<string>;
}

export interface DescribedInterface {
  readonly title: string;
  readonly description: string;
  readonly operations: readonly InterfaceOperation[];
  /** The codes that are sent over REST; the others are tRPC's alone. */
  readonly restErrorCodes: ReadonlySet<string>;
}

/** The parts of our own document that are read here. */
interface ReadDocument {
  readonly info: { readonly title: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, ReadOperation>>>>;
  readonly components: {
    readonly schemas: { readonly Error: { readonly properties: { readonly code: ReadCodes } } };
    readonly responses: Readonly<Record<string, ReadResponse>>;
  };
}

interface ReadCodes {
  readonly enum: readonly string[];
}

interface ReadOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, ReadResponse>>;
}

interface ReadResponse {
  /** Of a response that several operations share, in place of all else. */
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, ReadContent>>;
}

interface ReadContent {
  readonly schema?: { readonly $ref?: string };
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** Reads from the committed document what pages beside the reference tell of it. */
export function describeInterface(): DescribedInterface {
  // The document is committed, and generated in this form; the tests read every field.
  const document = openApiDocument({ servers: [] }) as unknown as ReadDocument;
  return {
    title: document.info.title,
    description: document.info.description,
    operations: Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, summary, responses }]) => ({
        operationId,
        method: method.toUpperCase(),
        path,
        summary,
        errorCodes: readErrorCodes(Object.values(responses), document),
      })),
    ),
    restErrorCodes: new Set(document.components.schemas.Error.properties.code.enum),
  };
}

function readErrorCodes(responses: readonly ReadResponse[], { components }: ReadDocument): ReadonlySet<string> {
  const resolved = responses.map((response) =>
    response.$ref === undefined ? response : components.responses[response.$ref.replace(/^.*\//, '')],
  );
  const contents = resolved.flatMap((response) => Object.values(response?.content ?? {}));
  const errors = contents.filter(({ schema }) => schema?.$ref === '#/components/schemas/Error');
  return new Set(errors.flatMap(({ examples = {} }) => Object.keys(examples)));
}
