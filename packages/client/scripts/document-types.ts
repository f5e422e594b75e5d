import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ERROR_CATALOGUE, procedureContracts } from '@petstore/api';
import openapiTS, { astToString, type OpenAPI3, type OpenAPITSOptions, stringToAST } from 'openapi-typescript';

type TypeNode = ReturnType<NonNullable<OpenAPITSOptions['transform']>>;

interface DocumentTypes {
  readonly document: URL;
  /** The module of its types. */
  readonly file: string;
}

const typesOf = (document: string, module: string): DocumentTypes => ({
  document: new URL(`../../api/${document}`, import.meta.url),
  file: fileURLToPath(new URL(`../src/rest/${module}`, import.meta.url)),
});

/** A module for each version of the interface. */
export const DOCUMENT_TYPES: readonly DocumentTypes[] = [
  typesOf('openapi.json', 'document.ts'),
  typesOf('openapi.v2.json', 'document-v2.ts'),
];

/** The module of the error codes. */
export const ERROR_CODES_FILE = fileURLToPath(new URL('../src/error-codes.ts', import.meta.url));

/** The module of the facts about procedures. */
export const TRAITS_FILE = fileURLToPath(new URL('../src/trpc/procedure-traits.ts', import.meta.url));

const HEAD = `// Written by "pnpm --filter @petstore/client generate" from the OpenAPI document. Do not edit.\n\n`;

/** What the client uses. */
const DECLARATIONS: readonly unknown[] = ['components', 'operations'];
/** What it does not, and what changes often. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'headers',
  'responses',
  'Error', // the schema of all errors, whose codes are generated from the catalogue
  'example',
  'examples',
  'securitySchemes',
  'servers',
  'tags',
  'security',
]);

/** A line for a kind of parameters or components of which there are none, and what is left if there are no others. */
const ABSENT = /^ *\w+\??: never;\n/gm;
const EMPTY = /\{\s*\}/g;

const leaveOut = (key: string, value: unknown): unknown => (LEFT_OUT.has(key) ? undefined : value);

/** The types of a document's operations and schemas, 64-bit integers being `bigint`, as the text of a module. */
export async function generateDocumentTypes({ document: url, file }: DocumentTypes): Promise<string> {
  const document: OpenAPI3 = JSON.parse(readFileSync(url, 'utf8'), leaveOut);
  const bigint = parseType('bigint');
  const nodes = await openapiTS(document, {
    transform: (schema) => ('format' in schema && schema.format === 'int64' ? bigint : undefined),
  });
  // Every declaration has a name, which the general type of nodes does not show.
  const used = nodes.filter((node) => DECLARATIONS.includes((node as { name?: { text?: string } }).name?.text));
  const text = astToString(used).replaceAll(ABSENT, '').replaceAll(EMPTY, 'object');
  return formatted(HEAD + text, file);
}

/** What the contracts say of procedures that are called in a special way, as the text of a module. */
export function generateTraits(): string {
  const traits = Array.from(procedureContracts, ([name, contract]) => {
    const own = contract.type === 'query' ? contract.streams && { streams: true } : { repetition: contract.repetition };
    return [name, own] as const;
  });
  const special = Object.fromEntries(traits.filter(([, own]) => own !== undefined));
  const head = HEAD.replace('OpenAPI document', 'contracts of its operations');
  const text = `${head}/** By the procedure's full name. */\nexport const TRAITS = ${JSON.stringify(special)} as const;\n`;
  return formatted(text, TRAITS_FILE);
}

/** The codes of the service's errors by the class of the client that they have, as the text of a module. */
export function generateErrorCodes(): string {
  const byClass = Object.groupBy(Object.entries(ERROR_CATALOGUE), ([, { clientClass }]) => clientClass);
  const lines = Object.entries(byClass).map(
    ([clientClass, entries]) => `${clientClass}: ${entries.map(([code]) => `'${code}'`).join(' | ')};`,
  );
  const head = HEAD.replace('OpenAPI document', "service's error catalogue");
  const text = `${head}/** The codes that an error of each class may have. */\nexport interface CodesOfClass {\n${lines.join('\n')}\n}\n`;
  return formatted(text, ERROR_CODES_FILE);
}

/** A type as a node; what is parsed is a declaration of it. */
function parseType(text: string): TypeNode {
  const [declaration] = stringToAST(`type T = ${text};`) as [{ readonly type: TypeNode }];
  return declaration.type;
}

const formatted = (text: string, file: string): string =>
  execFileSync('biome', ['format', `--stdin-file-path=${file}`], { input: text, encoding: 'utf8' });
