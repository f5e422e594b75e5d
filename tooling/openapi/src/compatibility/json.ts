export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** A change that a caller of the released interface would suffer from. */
export interface BreakingChange {
  /** Which operation, and where in it. */
  readonly at: string;
  readonly what: string;
}

export type Report = (what: string, ...where: readonly string[]) => void;

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object at a name; an empty one where there is none. */
export const objectAt = (parent: JsonObject | undefined, name: string): JsonObject => {
  const value = parent?.[name];
  return isObject(value) ? value : {};
};

export const arrayAt = (parent: JsonObject | undefined, name: string): readonly Json[] => {
  const value = parent?.[name];
  return Array.isArray(value) ? value : [];
};

export const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

/** With the names of objects in order, which means nothing in JSON. */
function sorted(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => sorted(item) ?? null);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

/** Puts what references lead to in their place. Documents with circles are refused. */
export function resolve(value: Json, document: JsonObject, depth = 0): Json {
  if (depth > 100) throw new Error('The document refers to itself in a circle, which this check does not know.');
  if (Array.isArray(value)) return value.map((item) => resolve(item, document, depth + 1));
  if (!isObject(value)) return value;
  const { $ref } = value;
  if (typeof $ref === 'string') return resolve(lookUp($ref, document), document, depth + 1);
  const entries = Object.entries(value).map(
    ([name, own]) => [name, resolve(own ?? null, document, depth + 1)] as const,
  );
  return Object.fromEntries(entries);
}

function lookUp($ref: string, document: JsonObject): Json {
  const names = $ref.replace(/^#\//, '').split('/');
  let found: Json | undefined = document;
  for (const name of names) {
    found = isObject(found) ? found[name.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }
  if (found === undefined) throw new Error(`${$ref} leads nowhere.`);
  return found;
}
