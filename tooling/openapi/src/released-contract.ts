import { isDeepStrictEqual } from 'node:util';
import { follow, isObject, type Json, type JsonObject } from './documents.ts';

/** Members that inform readers and do not bind callers, like extensions (`x-...`). */
const IGNORED = new Set([
  'description',
  'summary',
  'title',
  'example',
  'examples',
  'externalDocs',
  'tags',
  'deprecated',
]);
/** Members that contain named things, to which a later document may add. */
const MAPS = new Set(['responses', 'headers', 'content', 'properties']);

/**
 * Finds what the current document no longer keeps of a released one: each path, operation, parameter, response, header and
 * property must still exist, and be equal. A deprecated operation may be removed after its `x-sunset`. An enumeration in a
 * response may lose values, which readers then no longer meet; the list of all error codes may not.
 *
 * @param now determines which sunsets are past
 * @returns one sentence for each difference, beginning with its JSON pointer after following references
 */
export function findBrokenPromises(released: JsonObject, current: JsonObject, now: Date): readonly string[] {
  const found: string[] = [];

  /** Pairs whose parts are being compared: a schema may contain itself. */
  const open: (readonly [Json, Json])[] = [];

  function compare(before: Json, after: Json, pointer: string, isMap: boolean): void {
    if (open.some(([one, other]) => one === before && other === after)) return;
    open.push([before, after]);
    compareParts(before, after, pointer, isMap);
    open.pop();
  }

  function compareParts(before: Json, after: Json, pointer: string, isMap: boolean): void {
    const [one, other] = [resolve(before, released), resolve(after, current)];
    // Such as alternatives, often references. (`allOf` is merged.)
    if (Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every(isObject)) {
      for (const [index, own] of one.entries()) compare(own, other[index], `${pointer}/${index}`, false);
      return;
    }
    if (!isObject(one) || !isObject(other)) {
      if (isNarrowed(pointer, one, other)) return;
      if (!isDeepStrictEqual(sorted(one), sorted(other))) {
        found.push(`${pointer} went from ${JSON.stringify(one)} to ${JSON.stringify(other)}`);
      }
      return;
    }
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
      if (!isMap && (IGNORED.has(name) || name.startsWith('x-'))) continue;
      const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const [own, others] = [one[name], other[name]];
      if (others === undefined) {
        if (!isPastSunset(own, now)) found.push(`${at} was removed`);
      } else if (own === undefined) {
        if (!isMap || isRequired(others)) found.push(`${at} was added`);
      } else if (name === 'parameters') {
        compare(byName(own, released), byName(others, current), at, true);
      } else {
        // A path contains operations by their methods.
        compare(own, others, at, pointer === '/paths' || (!isMap && MAPS.has(name)));
      }
    }
  }

  for (const name of ['paths', 'security'] as const) {
    compare(released[name] ?? {}, current[name] ?? {}, `/${name}`, true);
  }
  compare(errorOf(released), errorOf(current), `/components/schemas/Error`, false);
  return found;
}

const errorOf = (document: JsonObject): Json => follow({ $ref: '#/components/schemas/Error' }, document) ?? {};

/** Follows references, and merges all parts of `allOf` into one schema. */
function resolve(value: Json, document: JsonObject): Json {
  const own = follow(value, document);
  if (!isObject(own) || !Array.isArray(own['allOf'])) return own;
  const { allOf, ...rest } = own;
  return [...allOf, rest].map((part) => resolve(part, document)).reduce(both);
}

/** Combines the requirements of two schemas; of other members, the later one is kept. */
function both(one: Json, other: Json): Json {
  if (!isObject(one) || !isObject(other)) return other;
  const members = Object.entries(other).map(([name, value]) => {
    const before = one[name];
    if (name === 'enum' && Array.isArray(before) && Array.isArray(value)) {
      return [name, value.filter((item) => before.includes(item))] as const;
    }
    return [name, before === undefined ? value : both(before, value)] as const;
  });
  return { ...one, ...Object.fromEntries(members) };
}

/** Whether a value is an enumeration in a response that has lost values, and gained none. */
const isNarrowed = (pointer: string, before: Json, after: Json): boolean =>
  /\/responses\/.*\/enum$/.test(pointer) &&
  Array.isArray(before) &&
  Array.isArray(after) &&
  after.every((value) => before.includes(value));

/** Parameters are a list in which the order has no meaning. */
const byName = (parameters: Json, document: JsonObject): JsonObject =>
  Object.fromEntries(
    (Array.isArray(parameters) ? parameters : []).map((reference) => {
      const parameter = follow(reference, document);
      return [isObject(parameter) ? `${parameter['in']} ${parameter['name']}` : String(parameter), parameter];
    }),
  );

/** The order of an enumeration, or of required names, has no meaning. */
const sorted = (value: Json): Json => (Array.isArray(value) ? [...value].sort() : value);

/** Whether a parameter is required: callers of the release do not send it. */
const isRequired = (value: Json): boolean => isObject(value) && 'in' in value && value['required'] === true;

/** Whether the sunset of an operation, or of all operations of a path, is past. */
const isPastSunset = (value: Json | undefined, now: Date): boolean =>
  isObject(value) &&
  (typeof value['x-sunset'] === 'string'
    ? value['deprecated'] === true && new Date(value['x-sunset']) <= now
    : Object.keys(value).length > 0 && Object.values(value).every((own) => isPastSunset(own, now)));
