import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { describeFileError } from '../file-errors.ts';
import { findMisspeltNames } from './misspelt-names.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Environment variables by name. Each schema takes the trimmed text, or `undefined` where the variable is unset or
 * empty. Its description completes "it must be ...". `secret: true` in its metadata keeps the text out of messages, lets a
 * file hold it (`NAME_FILE`), and refuses an empty text: where a secret was not delivered nothing may be put in its place.
 */
export type Variables = Readonly<Record<string, z.ZodType>>;

export type VariableValues<Shape extends Variables> = { readonly [Name in keyof Shape]: z.output<Shape[Name]> };

/** Variables whose values are wrong. The message lists them all. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  /** @param problems one sentence per variable, none with a password in it */
  constructor(problems: readonly string[]) {
    super(`These settings are wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/**
 * Reads the variables of a shape, and no others.
 *
 * @param findConflicts problems between variables, each of which is right by itself; those that are not are left out
 * @throws SettingsError that names every variable whose value is wrong, what it is, and what would be right
 */
export function readVariables<Shape extends Variables>(
  environment: Environment,
  shape: Shape,
  findConflicts: (values: Partial<VariableValues<Shape>>) => readonly string[] = () => [],
): VariableValues<Shape> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  const names: string[] = [];
  for (const [name, schema] of Object.entries(shape)) {
    names.push(name, ...(isSecret(schema) ? [`${name}_FILE`] : []));
    const { text, problem } = isSecret(schema) ? readSecret(environment, name) : { text: environment[name]?.trim() };
    const result = schema.safeParse(text === '' ? undefined : text);
    if (problem !== undefined) problems.push(problem);
    else if (result.success) values[name] = result.data;
    else problems.push(describeProblem(describeSource(environment, name, schema), text ?? '', schema));
  }
  problems.push(...findMisspeltNames(environment, names));
  const valid = values as VariableValues<Shape>; // each value came from the schema of its own name
  problems.push(...findConflicts(valid));
  if (problems.length > 0) throw new SettingsError(problems);
  return valid;
}

/** Whether a secret is set, or a file for it, be it right or wrong. */
export const isNamed = (environment: Environment, name: string): boolean =>
  environment[name] !== undefined || environment[`${name}_FILE`] !== undefined;

/** What a person looks at to put it right. */
const describeSource = (environment: Environment, name: string, schema: z.ZodType): string =>
  isSecret(schema) && environment[name] === undefined ? `${name}, in the file of ${name}_FILE,` : name;

const isSecret = (schema: z.ZodType): boolean => schema.meta()?.['secret'] === true;

/** What a variable says, or the file that `NAME_FILE` names; or what is wrong with them. */
function readSecret(environment: Environment, name: string): { readonly text?: string; readonly problem?: string } {
  const text = environment[name]?.trim();
  const file = environment[`${name}_FILE`]?.trim();
  if (text === '') return { problem: `${name} is set and empty; set it, or unset it` };
  if (file === undefined) return text === undefined ? {} : { text };
  if (file === '') return { problem: `${name}_FILE is set and empty; it must be the path of a file, or be unset` };
  if (text !== undefined) return { problem: `${name} and ${name}_FILE are both set; set one of them` };
  try {
    const content = readFileSync(file, 'utf8').trim();
    if (content !== '') return { text: content };
    return { problem: `${name}_FILE is ${JSON.stringify(file)}, which is empty; it must hold what ${name} would` };
  } catch (error) {
    return { problem: `${name}_FILE is ${JSON.stringify(file)}, which cannot be read: ${describeFileError(error)}` };
  }
}

/** A schema that takes what a function parses, and refuses what it returns `undefined` for. */
export const parsedBy = <Value>(parse: (text: string) => Value | undefined) =>
  z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom' });
    return z.NEVER;
  });

export const onOrOff = (byDefault: 'on' | 'off') =>
  z
    .enum(['on', 'off'])
    .prefault(byDefault)
    .transform((text) => text === 'on')
    .describe('on or off');

export function describeProblem(name: string, text: string, schema: z.ZodType): string {
  const { description, secret } = schema.meta() ?? {};
  return `${name} is ${secret === true ? showSecret(text) : showText(text)}; it must be ${description}`;
}

const SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;

/** Of a text that may hold a password anywhere only the scheme is safe to show. */
function showSecret(text: string): string {
  const scheme = SCHEME.exec(text)?.[0];
  return scheme === undefined ? 'something that does not begin like a URL' : `${scheme}... (the rest is not shown)`;
}

/** What stands in for an at sign in a list of URLs may be a password. */
function showText(text: string): string {
  const shown = text.replace(/\/\/[^,]*@/g, '//***@');
  return JSON.stringify(shown.length > 100 ? `${shown.slice(0, 100)}...` : shown);
}
