import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPI3, type OpenAPITSOptions, stringToAST } from 'openapi-typescript';

type TypeNode = ReturnType<NonNullable<OpenAPITSOptions['transform']>>;

const DOCUMENT_FILE = new URL('../../api/openapi.json', import.meta.url);
export const DOCUMENT_TYPES_FILE = fileURLToPath(new URL('../src/rest/document.ts', import.meta.url));

const HEAD = `// Written by "pnpm --filter @petstore/client generate" from the OpenAPI document. Do not edit.\n\n`;

/** What the client uses. */
const DECLARATIONS: readonly unknown[] = ['components', 'operations'];
/** What it does not, and what changes often. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'headers',
  'examples',
  'securitySchemes',
  'servers',
  'tags',
  'security',
]);

function leaveOut(key: string, value: unknown): unknown {
  if (LEFT_OUT.has(key)) return undefined;
  // Every error has one schema, whatever the operation.
  if (key === 'responses') return Object.fromEntries(Object.entries(value as object).filter(([name]) => name < '3'));
  return value;
}

/** The types of the document's operations and schemas, 64-bit integers being `bigint`, as the text of a module. */
export async function generateDocumentTypes(): Promise<string> {
  const document: OpenAPI3 = JSON.parse(readFileSync(DOCUMENT_FILE, 'utf8'), leaveOut);
  const bigint = parseType('bigint');
  const nodes = await openapiTS(document, {
    transform: (schema) => ('format' in schema && schema.format === 'int64' ? bigint : undefined),
  });
  // Declarations, each of which has a name; the general type of nodes does not tell so.
  const used = nodes.filter((node) => DECLARATIONS.includes((node as { name?: { text?: string } }).name?.text));
  return formatted(HEAD + astToString(used));
}

/** A type as a node; what is parsed is a declaration of it. */
function parseType(text: string): TypeNode {
  const [declaration] = stringToAST(`type T = ${text};`) as [{ readonly type: TypeNode }];
  return declaration.type;
}

const formatted = (text: string): string =>
  execFileSync('biome', ['format', `--stdin-file-path=${DOCUMENT_TYPES_FILE}`], { input: text, encoding: 'utf8' });
