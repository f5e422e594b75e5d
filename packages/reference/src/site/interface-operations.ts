import { type ApiVersion, openApiDocument } from '@petstore/api';

/** What the pages tell of an operation of the interface. */
export interface InterfaceOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly parameters: readonly string[];
  /** The codes that it answers with: those that the document shows. Codes of none are tRPC's alone. */
  readonly errorCodes: ReadonlySet<string>;
}

interface InterfaceSchema {
  readonly name: string;
  readonly description: string;
  readonly properties: readonly string[];
}

export interface DescribedInterface {
  readonly title: string;
  /** One sentence, in plain text. */
  readonly summary: string;
  readonly operations: readonly InterfaceOperation[];
  readonly schemas: readonly InterfaceSchema[];
}

/** The parts of our own document that are read here. */
interface ReadDocument {
  readonly info: { readonly title: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, ReadOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ReadSchema>>;
    readonly responses: Readonly<Record<string, ReadResponse>>;
  };
}

interface ReadSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
}

interface ReadOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly [string];
  readonly parameters?: readonly { readonly name: string }[];
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
export function describeInterface(version: ApiVersion): DescribedInterface {
  // The document is committed, and generated in this form; the tests read every field.
  const document = openApiDocument({ version, servers: [] }) as unknown as ReadDocument;
  return {
    title: document.info.title,
    summary: firstSentence(document.info.description),
    operations: Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId, summary, description, tags, parameters = [], responses }]) => ({
          operationId,
          method: method.toUpperCase(),
          path,
          summary,
          description,
          tag: tags[0],
          parameters: parameters.map(({ name }) => name),
          errorCodes: readErrorCodes(Object.values(responses), document),
        }),
      ),
    ),
    schemas: Object.entries(document.components.schemas).map(([name, { description = '', properties = {} }]) => ({
      name,
      description,
      properties: Object.keys(properties),
    })),
  };
}

/** For where there is room for a line: search engines, and previews of links. */
const firstSentence = (markdown: string): string =>
  (/^.*?\.(?=\s|$)/s.exec(markdown)?.[0] ?? markdown).replaceAll('`', '');

function readErrorCodes(responses: readonly ReadResponse[], { components }: ReadDocument): ReadonlySet<string> {
  const resolved = responses.map((response) =>
    response.$ref === undefined ? response : components.responses[response.$ref.replace(/^.*\//, '')],
  );
  const contents = resolved.flatMap((response) => Object.values(response?.content ?? {}));
  const errors = contents.filter(({ schema }) => schema?.$ref === '#/components/schemas/Error');
  return new Set(errors.flatMap(({ examples = {} }) => Object.keys(examples)));
}
