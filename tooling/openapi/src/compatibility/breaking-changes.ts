import { compareErrorCodes, compareToldCodes } from './error-codes.ts';
import {
  arrayAt,
  type BreakingChange,
  isObject,
  isSame,
  type Json,
  type JsonObject,
  objectAt,
  type Report,
  resolve,
} from './json.ts';
import { compareSchemas, type Direction } from './schema-changes.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** Who uses these was told that they may change. */
const UNSETTLED: readonly Json[] = ['experimental', 'beta'];

/**
 * Finds what of a released document a current one no longer keeps. What may come and go: descriptions and examples (but
 * for the error codes that they tell), servers, operations that are experimental or beta, and deprecated ones once their
 * `x-sunset` is past.
 *
 * @param now a moment, against which sunsets are judged
 */
export function findBreakingChanges(released: JsonObject, current: JsonObject, now: Date): readonly BreakingChange[] {
  const changes: BreakingChange[] = [];
  compareErrorCodes(released, current, (what, ...where) => changes.push({ at: where.join(' > '), what }));
  const operationsNow = operationsOf(current);
  for (const [name, operation] of operationsOf(released)) {
    if (UNSETTLED.includes(operation['x-stability'] ?? '')) continue;
    const report: Report = (what, ...where) => changes.push({ at: [name, ...where].join(' > '), what });
    const own = operationsNow.get(name);
    if (own !== undefined) {
      compareOperations(operation, own, report);
      compareSunsets(operation, own, now, report);
    } else if (!isPastSunset(operation, now)) report('the operation was removed');
  }
  return changes;
}

/** By method and path, references resolved, and with what applies to each from above it. */
function operationsOf(document: JsonObject): ReadonlyMap<string, JsonObject> {
  const operations = new Map<string, JsonObject>();
  const schemes = objectAt(objectAt(document, 'components'), 'securitySchemes');
  for (const [path, item] of Object.entries(objectAt(document, 'paths'))) {
    if (!isObject(item)) continue;
    for (const method of METHODS) {
      if (item[method] === undefined) continue;
      const operation = resolve(item[method], document) as JsonObject; // an Operation Object
      const security = arrayAt(operation['security'] === undefined ? document : operation, 'security');
      const parameters = [...arrayAt(item, 'parameters'), ...arrayAt(operation, 'parameters')];
      operations.set(`${method.toUpperCase()} ${path}`, {
        ...operation,
        parameters: resolve(parameters, document),
        security: security.map((requirement) => withSchemes(requirement, schemes)),
      });
    }
  }
  return operations;
}

/** A requirement by what its schemes are, which matters, as well as by what they are called. */
function withSchemes(requirement: Json, schemes: JsonObject): Json {
  if (!isObject(requirement)) return requirement;
  const entries = Object.entries(requirement).map(([name, scopes]) => {
    const { description: _, ...scheme } = objectAt(schemes, name);
    return [name, { scopes: scopes ?? [], scheme }] as const;
  });
  return Object.fromEntries(entries);
}

function isPastSunset({ deprecated, 'x-sunset': sunset }: JsonObject, now: Date): boolean {
  return deprecated === true && typeof sunset === 'string' && new Date(sunset) <= now;
}

/** Who uses a deprecated operation has planned by its sunset; who uses another has to be told before it ends. */
function compareSunsets(released: JsonObject, current: JsonObject, now: Date, report: Report): void {
  const { 'x-sunset': after } = current;
  if (typeof after !== 'string') return;
  const before = released['x-sunset'];
  const earliest = before === undefined ? now : new Date(String(before));
  if (new Date(after) >= earliest) return;
  report(before === undefined ? `x-sunset ${after} is past` : `x-sunset ${after} is earlier than ${before}`);
}

function compareOperations(released: JsonObject, current: JsonObject, report: Report): void {
  if (released['operationId'] !== current['operationId']) report('operationId changed: clients are generated with it');
  if (UNSETTLED.includes(current['x-stability'] ?? '')) report('a stable operation became less than stable');
  // One more way in harms nobody.
  const ways = arrayAt(current, 'security');
  const lost = arrayAt(released, 'security').filter((way) => !ways.some((other) => isSame(way, other)));
  const isOpenNow = ways.length === 0 || ways.some((way) => isSame(way, {}));
  const wasOpen = arrayAt(released, 'security').length === 0;
  if (!isOpenNow && (lost.length > 0 || wasOpen)) report('security changed');
  compareParameters(released, current, report);
  compareBodies(released, current, report);
  const [before, after] = [objectAt(released, 'responses'), objectAt(current, 'responses')];
  compareResponses(before, after, report);
  compareToldCodes(before, after, report);
}

function compareParameters(released: JsonObject, current: JsonObject, report: Report): void {
  const keyOf = (parameter: Json) => (isObject(parameter) ? `${parameter['in']} parameter ${parameter['name']}` : '');
  const byKey = (operation: JsonObject) =>
    new Map(arrayAt(operation, 'parameters').map((parameter) => [keyOf(parameter), parameter as JsonObject])); // resolved
  const before = byKey(released);
  const after = byKey(current);
  for (const [key, parameter] of before) {
    const own = after.get(key);
    const inside: Report = (what, ...where) => report(what, key, ...where);
    if (own === undefined) {
      inside('it was removed');
      continue;
    }
    if (own['required'] === true && parameter['required'] !== true) inside('it became required');
    for (const field of ['style', 'explode', 'allowReserved', 'content']) {
      if (!isSame(parameter[field], own[field])) inside(`${field} changed`);
    }
    compareSchemas(objectAt(parameter, 'schema'), objectAt(own, 'schema'), 'request', inside);
  }
  for (const [key, parameter] of after) {
    if (!before.has(key) && parameter['required'] === true) report('a required parameter was added', key);
  }
}

function compareBodies(released: JsonObject, current: JsonObject, report: Report): void {
  const [before, after] = [objectAt(released, 'requestBody'), objectAt(current, 'requestBody')];
  const inside: Report = (what, ...where) => report(what, 'request body', ...where);
  if (after['required'] === true && before['required'] !== true) inside('it became required');
  compareContents(before, after, 'request', inside);
}

function compareResponses(released: JsonObject, current: JsonObject, report: Report): void {
  for (const [status, response] of Object.entries(released)) {
    const own = current[status];
    const inside: Report = (what, ...where) => report(what, status, ...where);
    if (!isObject(response)) continue;
    if (!isObject(own)) {
      inside('the status was removed');
      continue;
    }
    compareHeaders(objectAt(response, 'headers'), objectAt(own, 'headers'), inside);
    compareContents(response, own, 'response', inside);
  }
  for (const status of Object.keys(current)) {
    if (status.startsWith('2') && released[status] === undefined) report('another status of success was added', status);
  }
}

function compareHeaders(released: JsonObject, current: JsonObject, report: Report): void {
  for (const [name, header] of Object.entries(released)) {
    const own = current[name];
    const inside: Report = (what, ...where) => report(what, `header ${name}`, ...where);
    if (!isObject(header)) continue;
    if (!isObject(own)) inside('it was removed');
    else {
      if (header['required'] === true && own['required'] !== true) inside('it became optional');
      compareSchemas(objectAt(header, 'schema'), objectAt(own, 'schema'), 'response', inside);
    }
  }
}

/** The media types of a request body or a response. */
function compareContents(released: JsonObject, current: JsonObject, direction: Direction, report: Report): void {
  const [before, after] = [objectAt(released, 'content'), objectAt(current, 'content')];
  for (const [type, content] of Object.entries(before)) {
    const own = after[type];
    if (!isObject(content)) continue;
    if (!isObject(own)) report('the media type was removed', type);
    else {
      const inside: Report = (what, ...where) => report(what, type, ...where);
      compareSchemas(objectAt(content, 'schema'), objectAt(own, 'schema'), direction, inside);
    }
  }
  // An answer that had no body has none.
  if (direction === 'response' && Object.keys(before).length === 0 && Object.keys(after).length > 0) {
    report('a body was added');
  }
}
