// Each pattern takes time linear in the text's length, whatever the text, because no part can match in several ways.
const KEY = /(pso_(?:live|demo)_[0-9A-Za-z]{8})_[0-9A-Za-z]+/g;
const AUTHORIZATION = /\b(bearer|basic)(?:\s|%20|\+)+[\w.~+/=%-]+/gi;
const HEADER = /("(?:proxy-)?authorization"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
const URL_PASSWORD = /(:\/\/[^\s:/@"\\]*):[^\s/@"\\]+@/g;

/** Texts that may be a key with some of its characters percent-encoded, once or several times. */
const ENCODED = /[\w%]{40,}/g;
/** More often nobody encodes by mistake. */
const ENCODED_TIMES_MAX = 3;
/** A percent-encoded character of a key, or a percent sign. */
const ESCAPE = /%(25|3\d|[46][1-9a-f]|[57][\da]|5f)/gi;

/** Replaces credentials by ***. The public id of a key stays, to show which key it was. */
export function hideCredentials(line: string): string {
  return line
    .replace(ENCODED, hideEncodedKey)
    .replace(HEADER, '$1"***"')
    .replace(KEY, '$1_***')
    .replace(AUTHORIZATION, '$1 ***')
    .replace(URL_PASSWORD, '$1:***@');
}

function hideEncodedKey(text: string): string {
  let decoded = text;
  for (let times = 0; times < ENCODED_TIMES_MAX; times++) decoded = decoded.replace(ESCAPE, decodeURIComponent);
  return decoded.search(KEY) === -1 ? text : decoded;
}
