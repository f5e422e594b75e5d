/**
 * The media type of a response, in lower case and without parameters: what is on the way may write it otherwise than the
 * service does, such as `Application/JSON; charset=utf-8`.
 */
export const mediaTypeOf = (headers: Headers): string =>
  headers.get('content-type')?.replace(/;.*/s, '').trim().toLowerCase() ?? '';
