import { parseInt64 } from '@petstore/domain';
import { z } from 'zod';
import { int64Error } from '../int64.ts';
import type { DocumentedContract } from '../procedure-contract.ts';

/** The parameters of an operation by their names over REST, which for some differ from those of the input's fields. */
export function parametersOf({
  input,
  rest: { parameterNames = {} },
}: DocumentedContract): Map<string, z.core.$ZodType> {
  const fields = Object.entries(input?.shape ?? {});
  return new Map(fields.map(([field, schema]) => [parameterNames[field] ?? field, schema]));
}

/** Whether a parameter may be repeated; its value is then a list. */
export const isList = (schema: unknown): boolean =>
  isOptional(schema) ? isList(schema.unwrap()) : schema instanceof z.ZodArray;

/**
 * The input of an operation as a URL holds it: each text is read by the type of its field, and then checked by the field's
 * own schema, which coerces nothing: tRPC uses the same.
 *
 * @throws Error if a field has a type that a URL cannot hold, or would be in a query that is not read
 */
export function inputFromTexts(contract: DocumentedContract) {
  requireReadable(contract);
  const parameters = Array.from(parametersOf(contract), ([name, schema]) => [name, fromText(name, schema)] as const);
  const names = Object.entries(contract.rest.parameterNames ?? {});
  return z.strictObject(Object.fromEntries(parameters)).transform((values) => {
    const input: Record<string, unknown> = { ...values };
    for (const [field, name] of names) {
      input[field] = input[name];
      delete input[name];
    }
    return input;
  });
}

/** Methods by which trpc-to-openapi reads the query. By others it takes, and documents, a body instead. */
const WITH_QUERY: readonly string[] = ['GET', 'DELETE'];

/** @throws Error if a parameter is neither in the path nor in a query that is read */
function requireReadable(contract: DocumentedContract): void {
  const { method, path, operationId } = contract.openapi;
  if (WITH_QUERY.includes(method)) return;
  for (const name of parametersOf(contract).keys()) {
    if (path.includes(`{${name}}`)) continue;
    throw new Error(
      `${operationId} by ${method} takes ${name}, but only GET and DELETE have a query: put it in the path.`,
    );
  }
}

function fromText(name: string, schema: z.core.$ZodType): z.ZodType {
  const read = readerOf(name, schema);
  return z.preprocess((value, { addIssue }) => {
    if (value === undefined) return undefined;
    const refuse = (message: string) => void addIssue({ code: 'custom', message });
    const texts = [value].flat() as string[]; // the handler takes the only text of a parameter out of its list
    if (isList(schema)) return texts.map((text) => read(text, refuse));
    const [text = '', ...others] = texts;
    return others.length === 0 ? read(text, refuse) : refuse('may be given only once');
  }, schema);
}

/** Reads a text. One that is not of the parameter's type is left as it is, which its schema refuses, or refused at once. */
type Reader = (text: string, refuse: (message: string) => void) => unknown;

/** Whole numbers that a double holds exactly. */
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;

function readerOf(name: string, schema: z.core.$ZodType): Reader {
  if (isOptional(schema)) return readerOf(name, schema.unwrap());
  if (schema instanceof z.ZodArray) return readerOf(name, schema.element);
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return (text) => text;
  if (schema instanceof z.ZodBigInt) return (text, refuse) => parseInt64(text) ?? refuse(int64Error);
  if (schema instanceof z.ZodNumber) return (text) => (INTEGER.test(text) ? Number(text) : text);
  throw new Error(`${name} has a type that a URL cannot hold.`);
}

const isOptional = (schema: unknown): schema is z.ZodOptional | z.ZodDefault =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
