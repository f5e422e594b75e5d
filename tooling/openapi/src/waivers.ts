/** A finding that is accepted, with the reason. A waiver without a finding fails the check. */
export interface Waiver {
  readonly rule: string;
  /** The place in a document, by its JSON path joined by slashes. */
  readonly at: RegExp;
  readonly reason: string;
}

export const WAIVERS: readonly Waiver[] = [
  {
    rule: 'owasp:api1:2023-no-numeric-ids',
    at: /\/parameters\/\d+\/schema$/,
    reason: 'The specification makes ids int64. They are no secret: every key may see every order of the store.',
  },
  {
    rule: 'owasp:api4:2023-rate-limit',
    at: /\/responses\/\w+\/headers$/,
    reason: "The rule wants one kind of header or another. We send both: the specification's and the IETF draft's.",
  },
  {
    rule: 'owasp:api4:2023-array-limit',
    at: /^paths\/\/store\/orders\/get\/responses\/200\/content\/application\/json\/schema$/,
    reason: 'The specification returns all orders in one response, so no maximum can be promised. It is streamed.',
  },
  {
    rule: 'owasp:api4:2023-integer-limit',
    at: /(\/properties\/(id|petId)|\/parameters\/\d+\/schema)$/,
    reason: 'Bounded by format int64. JSON parsers that round would show its ends as numbers outside of it.',
  },
  {
    rule: 'owasp:api4:2023-integer-format',
    at: /\/properties\/quantity$/,
    reason: 'The specification gives it no format; minimum and maximum say more than int32 would.',
  },
  {
    rule: 'owasp:api4:2023-string-limit',
    at: /\/properties\/name$/,
    reason: 'It is only returned, as it was imported, so no bound can be promised.',
  },
  {
    rule: 'owasp:api4:2023-string-restricted',
    at: /\/properties\/name$/,
    reason: 'A name is any text.',
  },
];
