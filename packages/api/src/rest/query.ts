import { parseInt64 } from '@petstore/domain';
import { z } from 'zod';
import { ApiError } from '../api-error.ts';

/** The parameters of a query by name. A value that does not parse as its type stays a text, which the schema refuses. */
export type QueryInput = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly read: (text: string) => unknown;
  /** Whether the parameter may be repeated; its value is then an array. */
  readonly isList: boolean;
}

/** Only a name this short may be repeated in a message: a key is longer. No part of one is repeated either. */
const SHOWN_NAME = /^(?!.*pso_)[\w[\].$-]{1,24}$/;
/** The way in which axios, PHP and qs write the values of a list. */
const BRACKETED_NAME = /^(\w+)\[\d*\]$/;

const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;

/**
 * Makes the reader of an operation's query parameters. It parses each value by its type in the schema. If the schema
 * coerced the values instead, tRPC would accept more than it should.
 *
 * @throws Error if a parameter has a type that a query cannot hold
 */
export function createQueryReader(shape: Readonly<Record<string, unknown>>): (query: string) => QueryInput {
  const parameters = new Map(Object.entries(shape).map(([name, schema]) => [name, parameterOf(name, schema)]));
  return (query) => {
    const input: Record<string, unknown> = {};
    for (const [name, text] of decodeQuery(query)) {
      const parameter = parameters.get(name);
      if (parameter === undefined) throw new ApiError('invalid_request', describeUnknown(name, parameters));
      const value = parameter.read(text);
      const before = input[name];
      if (before === undefined) input[name] = parameter.isList ? [value] : value;
      else if (Array.isArray(before)) before.push(value);
      else throw new ApiError('invalid_request', `${name}: may be given only once.`);
    }
    return input;
  };
}

function parameterOf(name: string, schema: unknown): Parameter {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return parameterOf(name, schema.unwrap());
  if (schema instanceof z.ZodArray) return { ...parameterOf(name, schema.element), isList: true };
  return { read: readerOf(name, schema), isList: false };
}

function readerOf(name: string, schema: unknown): Parameter['read'] {
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return (text) => text;
  if (schema instanceof z.ZodBigInt) return (text) => parseInt64(text) ?? text;
  if (schema instanceof z.ZodNumber) return (text) => (INTEGER.test(text) ? Number(text) : text);
  throw new Error(`${name} has a type that a query cannot contain.`);
}

function decodeQuery(query: string): URLSearchParams {
  try {
    decodeURIComponent(query); // throws for an escape that URLSearchParams would leave as it is
  } catch {
    throw new ApiError('invalid_request', 'The query is not percent-encoded correctly.');
  }
  return new URLSearchParams(`?${query}`);
}

function describeUnknown(name: string, parameters: ReadonlyMap<string, Parameter>): string {
  const [, bare = ''] = BRACKETED_NAME.exec(name) ?? [];
  const known = parameters.get(bare);
  if (known !== undefined) {
    const several = known.isList ? `; repeat it for several values: ${bare}=A&${bare}=B` : '';
    return `${bare}[]: must be written without brackets${several}.`;
  }
  const complaint = SHOWN_NAME.test(name) ? `${name}: unknown parameter.` : 'The query contains an unknown parameter.';
  const names = [...parameters.keys()].join(', ') || 'no query parameters';
  return `${complaint} This operation accepts ${names}.`;
}

/** Writes a query that {@link createQueryReader} can read, without the question mark. */
export function writeQuery(input: QueryInput): string {
  return Object.entries(input)
    .flatMap(([name, value]) => [value].flat().map((item: unknown) => [name, item] as const))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
}
