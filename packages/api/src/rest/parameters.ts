import { z } from 'zod';
import type { DocumentedContract } from '../procedure-contract.ts';

/** The parameters of an operation by their names over REST, which for some differ from those of the procedure's fields. */
export function restParametersOf({ input, rest: { parameterNames = {} } }: DocumentedContract): z.ZodObject {
  const fields = Object.entries(input?.shape ?? {});
  return z.object(Object.fromEntries(fields.map(([field, schema]) => [parameterNames[field] ?? field, schema])));
}

/**
 * The input of a procedure from parameters by their names over REST.
 *
 * @param parameters as {@link createQueryReader} reads them
 */
export function inputOf(
  { rest: { parameterNames = {} } }: DocumentedContract,
  parameters: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const fieldNames = Object.fromEntries(Object.entries(parameterNames).map(([field, name]) => [name, field]));
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [fieldNames[name] ?? name, value]));
}
