import { ApiError } from '../api-error.ts';
import { isList } from './parameters.ts';

/** The texts of a query by the parameter's name. */
export type QueryTexts = Readonly<Record<string, readonly string[]>>;

/** Only a name this short may be repeated in a message: a key is longer. No part of one is repeated either. */
const SHOWN_NAME = /^(?!.*pso_)[\w[\].$-]{1,24}$/;
/** The way in which axios, PHP and qs write the values of a list. */
const BRACKETED_NAME = /^(\w+)\[\d*\]$/;

/**
 * Makes the reader of a query, which refuses parameters that an operation does not have. Their values are not its concern.
 *
 * @param parameters the schemas of the operation's query parameters by name
 */
export function createQueryReader(parameters: ReadonlyMap<string, unknown>): (query: string) => QueryTexts {
  return (query) => {
    const texts = decodeQuery(query);
    for (const name of texts.keys()) {
      if (!parameters.has(name)) throw new ApiError('invalid_request', describeUnknown(name, parameters));
    }
    return Object.fromEntries(Array.from(texts.keys(), (name) => [name, texts.getAll(name)]));
  };
}

function decodeQuery(query: string): URLSearchParams {
  try {
    decodeURIComponent(query); // throws for an escape that URLSearchParams would leave as it is
  } catch {
    throw new ApiError('invalid_request', 'The query is not percent-encoded correctly.');
  }
  return new URLSearchParams(`?${query}`);
}

function describeUnknown(name: string, parameters: ReadonlyMap<string, unknown>): string {
  const [, bare = ''] = BRACKETED_NAME.exec(name) ?? [];
  if (parameters.has(bare)) {
    const several = isList(parameters.get(bare)) ? `; repeat it for several values: ${bare}=A&${bare}=B` : '';
    return `${bare}[]: must be written without brackets${several}.`;
  }
  const complaint = SHOWN_NAME.test(name) ? `${name}: unknown parameter.` : 'The query contains an unknown parameter.';
  const names = [...parameters.keys()].join(', ') || 'no query parameters';
  return `${complaint} This operation accepts ${names}.`;
}
