import { arrayAt, isObject, type Json, type JsonObject, objectAt, type Report } from './json.ts';

/**
 * Error codes are a closed set that callers branch on: unlike other values of answers they may not become fewer. Reports
 * those that the schema `Error` has lost.
 */
export function compareErrorCodes(released: JsonObject, current: JsonObject, report: Report): void {
  const codesNow = codesOf(current);
  for (const code of codesOf(released)) {
    if (!codesNow.includes(code)) report(`the error code ${code} was removed`, 'Error', 'code');
  }
}

function codesOf(document: JsonObject): readonly Json[] {
  const { Error: error } = objectAt(objectAt(document, 'components'), 'schemas');
  return isObject(error) ? arrayAt(objectAt(objectAt(error, 'properties'), 'code'), 'enum') : [];
}

/**
 * Which codes an operation answers with, its examples tell. Reports those that it no longer has, or with another status;
 * not those of a status that is gone, which is a change of its own.
 */
export function compareToldCodes(released: JsonObject, current: JsonObject, report: Report): void {
  const toldNow = toldCodes(current);
  for (const [code, { status, response }] of toldCodes(released)) {
    const own = toldNow.get(code);
    if (current[response] === undefined) continue;
    if (own === undefined) report(`the error code ${code} went away`, response);
    else if (own.status !== status) report(`the error code ${code} went from ${status} to ${own.status}`, response);
  }
}

interface ToldCode {
  readonly status: string;
  /** The status under which it stands in the document. */
  readonly response: string;
}

/** By code, references resolved. Where a code is told twice, the first one counts. */
function toldCodes(responses: JsonObject): ReadonlyMap<string, ToldCode> {
  const told = new Map<string, ToldCode>();
  for (const [response, description] of Object.entries(responses)) {
    if (!isObject(description)) continue;
    for (const content of Object.values(objectAt(description, 'content'))) {
      for (const example of Object.values(isObject(content) ? objectAt(content, 'examples') : {})) {
        const { code, status } = isObject(example) ? objectAt(example, 'value') : {};
        if (typeof code === 'string' && !told.has(code)) told.set(code, { status: String(status), response });
      }
    }
  }
  return told;
}
