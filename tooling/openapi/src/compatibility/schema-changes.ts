import { arrayAt, isObject, isSame, type Json, type JsonObject, objectAt, type Report } from './json.ts';

/**
 * Who sends what a schema describes. What callers send must go on being accepted, so that it may only become wider; what
 * they are answered must go on being what they expect, so that it may only become narrower.
 */
export type Direction = 'request' | 'response';

const LOWER_BOUNDS = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const UPPER_BOUNDS = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
/** Where one is there, less is allowed; two different ones cannot be compared. */
const RESTRICTIONS = ['const', 'format', 'pattern', 'multipleOf', 'uniqueItems'];
const STRUCTURE = ['type', 'enum', 'properties', 'required', 'items', 'additionalProperties'];
/** What is told of a schema changes nothing in what it allows. */
const ANNOTATIONS = ['title', 'description', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly', '$comment'];
const KNOWN = new Set([...LOWER_BOUNDS, ...UPPER_BOUNDS, ...RESTRICTIONS, ...STRUCTURE, ...ANNOTATIONS]);

/** Reports each change of a schema, references resolved, that breaks who relies on the released one. */
export function compareSchemas(released: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  if (isSame(released, current)) return;
  compareSets(released, current, direction, report);
  compareBounds(released, current, direction, report);
  compareRestrictions(released, current, direction, report);
  compareProperties(released, current, direction, report);
  compareAdditionalProperties(released, current, direction, report);
  compareItems(released, current, direction, report);
  const others = new Set([...Object.keys(released), ...Object.keys(current)]);
  for (const keyword of others) {
    if (KNOWN.has(keyword) || keyword.startsWith('x-') || isSame(released[keyword], current[keyword])) continue;
    report(`${keyword} changed, which this check cannot judge`);
  }
}

/** `type` and `enum`: sets of what is allowed, where none means everything. */
function compareSets(released: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  for (const keyword of ['type', 'enum']) {
    const before = asSet(released[keyword]);
    const after = asSet(current[keyword]);
    const [wider, narrower] = direction === 'request' ? [after, before] : [before, after];
    if (wider === undefined) continue;
    if (narrower === undefined) report(`${keyword} ${direction === 'request' ? 'was added' : 'was removed'}`);
    else {
      for (const value of narrower) {
        if (!wider.has(value)) report(`${keyword} ${direction === 'request' ? 'lost' : 'gained'} ${value}`);
      }
    }
  }
}

function asSet(value: Json | undefined): ReadonlySet<string> | undefined {
  if (value === undefined) return undefined;
  return new Set((Array.isArray(value) ? value : [value]).map((item) => JSON.stringify(item)));
}

function compareBounds(released: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  const bounds = [
    ...LOWER_BOUNDS.map((keyword) => ({ keyword, none: Number.NEGATIVE_INFINITY, sign: 1 })),
    ...UPPER_BOUNDS.map((keyword) => ({ keyword, none: Number.POSITIVE_INFINITY, sign: -1 })),
  ];
  for (const { keyword, none, sign } of bounds) {
    const [before, after] = [released[keyword] ?? none, current[keyword] ?? none].map(Number) as [number, number]; // two
    // Above zero: less is allowed than before.
    const narrowing = after === before ? 0 : (after > before ? 1 : -1) * sign;
    if (direction === 'request' ? narrowing > 0 : narrowing < 0) {
      report(`${keyword} went from ${shown(released[keyword])} to ${shown(current[keyword])}`);
    }
  }
}

function compareRestrictions(released: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  for (const keyword of RESTRICTIONS) {
    const [before, after] = [released[keyword], current[keyword]];
    if (isSame(before, after)) continue;
    if ((direction === 'request' ? after : before) === undefined) continue;
    report(`${keyword} went from ${shown(before)} to ${shown(after)}`);
  }
}

function compareProperties(released: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  const [before, after] = [objectAt(released, 'properties'), objectAt(current, 'properties')];
  for (const [name, property] of Object.entries(before)) {
    const own = after[name];
    if (own === undefined) report(`the property ${name} was removed`);
    else compareSchemas(asSchema(property), asSchema(own), direction, (what, ...at) => report(what, name, ...at));
  }
  const [requiredBefore, requiredAfter] = [arrayAt(released, 'required'), arrayAt(current, 'required')];
  if (direction === 'request') {
    for (const name of requiredAfter) if (!requiredBefore.includes(name)) report(`${name} became required`);
  } else {
    for (const name of requiredBefore) if (!requiredAfter.includes(name)) report(`${name} became optional`);
  }
}

function compareAdditionalProperties(
  released: JsonObject,
  current: JsonObject,
  direction: Direction,
  report: Report,
): void {
  const [before, after] = [asSchema(released['additionalProperties']), asSchema(current['additionalProperties'])];
  compareSchemas(before, after, direction, (what, ...at) => report(what, 'additionalProperties', ...at));
}

function compareItems(released: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  const [before, after] = [asSchema(released['items']), asSchema(current['items'])];
  compareSchemas(before, after, direction, (what, ...at) => report(what, 'items', ...at));
}

/** Schemas may be `true` and `false` too: everything, and nothing. */
function asSchema(value: Json | undefined): JsonObject {
  if (value === false) return { enum: [] };
  return isObject(value) ? value : {};
}

const shown = (value: Json | undefined): string => (value === undefined ? 'none' : JSON.stringify(value));
