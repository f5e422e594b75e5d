import { type ApiVersion, openApiDocument } from '@petstore/api';
import type { OpenApiDocument, Response } from '../browser/open-api.d.ts';

/** An operation, as the pages describe it. */
export interface InterfaceOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly parameters: readonly string[];
  /** The error codes that the document shows for it. A code of no operation occurs over tRPC only. */
  readonly errorCodes: ReadonlySet<string>;
}

interface InterfaceSchema {
  readonly name: string;
  readonly description: string;
  readonly properties: readonly string[];
}

export interface DescribedInterface {
  readonly title: string;
  /** One sentence of plain text. */
  readonly summary: string;
  readonly operations: readonly InterfaceOperation[];
  readonly schemas: readonly InterfaceSchema[];
}

/** Reads from the committed document what guides and search show of it. */
export function describeInterface(version: ApiVersion): DescribedInterface {
  // The document is committed, and generated in this form; the tests read every field.
  const document = openApiDocument({ version, servers: [] }) as unknown as OpenApiDocument;
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

/** For search engines and link previews. */
const firstSentence = (markdown: string): string =>
  (/^.*?\.(?=\s|$)/s.exec(markdown)?.[0] ?? markdown).replaceAll('`', '');

function readErrorCodes(responses: readonly Response[], { components }: OpenApiDocument): ReadonlySet<string> {
  const resolved = responses.map((response) =>
    response.$ref === undefined ? response : components.responses[response.$ref.replace(/^.*\//, '')],
  );
  const contents = resolved.flatMap((response) => Object.values(response?.content ?? {}));
  const errors = contents.filter(({ schema }) => schema?.$ref === '#/components/schemas/Error');
  return new Set(errors.flatMap(({ examples = {} }) => Object.keys(examples)));
}
